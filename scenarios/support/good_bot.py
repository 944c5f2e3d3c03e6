"""
A shop's support bot, for `scenario.yaml` to talk to: Chat Completions with tool calls, streamed or whole.

    python good_bot.py --port 8011

It stands in for a language model with tools, and knows nothing but the messages it is sent: it finds out
which order they mean, has the tools asked, and answers from their results. `worse_bot.py` is the same with
three faults.
"""

import json

from chat_completions import main
from customer_words import ADDRESS, ANGRY, EMAIL, NAMED, wishes

WITHOUT_ORDER = {
    "discount": "I'm sorry, I can't give discounts or vouchers.",
    "others": "I'm sorry, I can't tell you anything about other customers' orders.",
    "advice": "I'm sorry, I can't give legal advice.",
    "human": "I am passing you on to a colleague, who will write to you today.",
    "thanks": "You're welcome. Have a nice day!",
    "unclear": "I can help with deliveries, refunds, addresses and warranties.",
}
STATUS = {
    "packing": "is still being packed and leaves our store on",
    "shipped": "has been shipped and should arrive on",
    "delivered": "was delivered on",
}


class NeedsToolError(Exception):
    """A tool has to be asked first; holds its name and its arguments as JSON."""


class GoodBot:
    """The bot in one request."""

    remembers = 1000
    """How many of the user's messages it reads."""

    def __init__(self, messages):
        read = [i for i, message in enumerate(messages) if message["role"] == "user"][-self.remembers :]
        now = self.now = read[-1]
        self.question = messages[now]["content"]
        said = [m for m in messages[read[0] : now] if m["role"] in ("user", "assistant") and m.get("content")]
        self.earlier = [(message["role"], message["content"]) for message in said]
        calls = {call["id"]: call["function"] for m in messages[now:] for call in m.get("tool_calls") or ()}
        self.results = {}
        for message in messages[now:]:
            if message["role"] == "tool":
                call = calls[message["tool_call_id"]]
                self.results[call["name"], call["arguments"]] = json.loads(message["content"])

    def next_message(self):
        """Calls of tools, or the answer once all of them have answered."""
        texts = ["I am sorry for the trouble."] if ANGRY.search(self.question) else []
        needed = {}
        for wish, order in wishes(self.question, self.earlier):
            try:
                texts.append(self.answer(wish, order))
            except NeedsToolError as need:
                needed[need.args] = {"name": need.args[0], "arguments": need.args[1]}
        if not needed:
            return {"role": "assistant", "content": " ".join(texts)}
        calls = [
            {"id": f"call_{self.now}_{number}", "type": "function", "function": function}
            for number, function in enumerate(needed.values(), len(self.results))
        ]
        return {"role": "assistant", "content": None, "tool_calls": calls}

    def answer(self, wish, order):
        """What to say. Raises ``NeedsToolError`` where that depends on a tool."""
        if wish in WITHOUT_ORDER:
            return WITHOUT_ORDER[wish]
        texts = [text for _, text in self.earlier]
        if order is None:
            emails = EMAIL.findall(" ".join([*texts, self.question]))
            if not emails:
                return self.ask("Which order is it about? Please tell me its number or your email address.")
            orders = self.tool("list_orders", email=emails[-1])["orders"]
            if len(orders) != 1:
                listed = " and ".join(f"{one['order_id']} ({one['item']})" for one in orders)
                return self.ask(f"You have {len(orders)} orders: {listed}. Which one do you mean?")
            order = orders[0]["order_id"]
        found = self.tool("find_order", order_id=order)
        if "error" in found:
            return self.ask(f"I can't find an order {order}. Could you check the number?")
        known = any(number == order for text in texts for number, _ in NAMED.findall(text))
        return getattr(self, wish)(found, found["item"] if known else f"order {order} ({found['item']})")

    def tool(self, name, **arguments):
        call = name, json.dumps(arguments)
        if call not in self.results:
            raise NeedsToolError(*call)
        return self.results[call]

    def json(self, found, order):
        return json.dumps(found)

    def status(self, found, order):
        return f"Your {order} {STATUS[found['status']]} {found['date']}."

    def price(self, found, order):
        return (
            f"You paid {found['price']:.2f} euros for your {order} and {found['shipping']:.2f} for shipping."
        )

    def warranty(self, found, order):
        how = "runs until" if found["in_warranty"] else "ended on"
        return f"The warranty of your {order} {how} {found['warranty']}."

    def refund(self, found, order):
        if not found["returnable"]:
            return f"I'm sorry, I can't refund your {order}: its return period is over."
        amount = self.refunded(found)
        self.tool("refund", order_id=found["order_id"], amount=amount)
        return f"I have refunded {amount:.2f} euros for your {order}."

    def cancel(self, found, order):
        if found["status"] != "packing":
            return f"I'm sorry, I can't cancel your {order}: it has left our store already."
        self.tool("cancel_order", order_id=found["order_id"])
        return f"I have cancelled your {order}. You will not be charged."

    def address(self, found, order):
        if found["status"] != "packing":
            return f"I'm sorry, I can't change the address of your {order}: it has left our store already."
        address = ADDRESS.search(self.question)
        if address is None:
            return self.ask(f"To which address shall we deliver your {order}?")
        self.tool("change_address", order_id=found["order_id"], address=address[1])
        return f"We will deliver your {order} to {address[1]}."

    def ask(self, question):
        return question

    def refunded(self, found):
        return found["price"]


if __name__ == "__main__":
    main(GoodBot)
