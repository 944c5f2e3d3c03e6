// A chat route as the AI SDK's guide has it, around its own mock model:
//
//     node benchmarks/ai_sdk_museum.mjs PORT
//
// Beside a node_modules folder with "ai" and "zod"; interop.py starts it. A question with the word "fail"
// fails, and one with "open" calls a tool before it is answered.
import { createServer } from "node:http";
import { convertToModelMessages, simulateReadableStream, stepCountIs, streamText, tool, validateUIMessages } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { z } from "zod";

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };

const model = new MockLanguageModelV3({
  doStream: async ({ prompt }) => {
    const texts = prompt.flatMap(({ content }) => (Array.isArray(content) ? content : [])).filter((part) => part.type === "text");
    const asked = texts[texts.length - 1].text;
    if (asked.includes("fail")) throw new Error("the archive is closed");
    const chunks = [{ type: "stream-start", warnings: [] }];
    if (asked.includes("open") && prompt[prompt.length - 1].role !== "tool") {
      chunks.push({ type: "tool-call", toolCallId: `call_${prompt.length}`, toolName: "openingHours", input: '{"day": "Monday"}' });
      chunks.push({ type: "finish", finishReason: { unified: "tool-calls" }, usage });
    } else {
      const said = `After ${texts.length - 1} messages: the museum stands in Brackwater's harbour, naïvely said.`;
      chunks.push({ type: "text-start", id: "1" });
      for (let begin = 0; begin < said.length; begin += 8) chunks.push({ type: "text-delta", id: "1", delta: said.slice(begin, begin + 8) });
      chunks.push({ type: "text-end", id: "1" }, { type: "finish", finishReason: { unified: "stop" }, usage });
    }
    return { stream: simulateReadableStream({ chunks }) };
  },
});

const openingHours = tool({
  description: "When the museum is open.",
  inputSchema: z.object({ day: z.string() }),
  execute: async ({ day }) => `10 to 17 on ${day}`,
});

createServer(async (request, response) => {
  if (request.method !== "POST") return response.end("ready");
  let body = "";
  for await (const chunk of request) body += chunk;
  try {
    const messages = await validateUIMessages({ messages: JSON.parse(body).messages });
    const result = streamText({ model, messages: await convertToModelMessages(messages), tools: { openingHours }, stopWhen: stepCountIs(3), maxRetries: 0, onError: () => {} });
    result.pipeUIMessageStreamToResponse(response, { onError: (error) => String(error.message ?? error) });
  } catch (error) {
    response.writeHead(400, { "content-type": "application/json" }).end(JSON.stringify({ error: String(error) }));
  }
}).listen(Number(process.argv[2]), "127.0.0.1");
