"""
The support bot with three faults, each of a kind that models have.

    python worse_bot.py --port 8011

1. It forgets: of a long conversation it reads the user's last three messages and what came between them.
2. It never asks back: where it should ask which order is meant, it says that all is well.
3. It refunds the wrong amount: the shipping costs as well.
"""

from chat_completions import main
from good_bot import GoodBot


class WorseBot(GoodBot):
    remembers = 3

    def ask(self, question):
        return "I have made a note of it."

    def refunded(self, found):
        return round(found["price"] + found["shipping"], 2)


if __name__ == "__main__":
    main(WorseBot)
