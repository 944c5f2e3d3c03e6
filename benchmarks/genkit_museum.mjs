// A flow of Genkit's behind its handler for Express, with a model of ours:
//
//     node benchmarks/genkit_museum.mjs PORT
//
// Beside a node_modules folder with "genkit" and "@genkit-ai/express"; interop.py starts it. A question with
// the word "fail" fails.
import { expressHandler } from "@genkit-ai/express";
import express from "express";
import { genkit, z } from "genkit";

const ai = genkit({});

const museum = ai.defineModel({ name: "museum" }, async ({ messages }, streamingCallback) => {
  if (messages[messages.length - 1].content[0].text.includes("fail")) throw new Error("the archive is closed");
  const said = `After ${messages.length - 1} messages: the museum stands in Brackwater's harbour, naïvely said.`;
  for (let begin = 0; streamingCallback && begin < said.length; begin += 8) streamingCallback({ content: [{ text: said.slice(begin, begin + 8) }] });
  return { message: { role: "model", content: [{ text: said }] }, finishReason: "stop" };
});

const chat = ai.defineFlow({ name: "chat", inputSchema: z.object({ messages: z.array(z.any()) }), streamSchema: z.string(), outputSchema: z.string() }, async ({ messages }, { sendChunk }) => {
  const { text } = await ai.generate({ model: museum, messages, onChunk: (chunk) => sendChunk(chunk.text) });
  return text;
});

const app = express().use(express.json());
app.get("/", (_, response) => response.send("ready"));
app.post("/chat", expressHandler(chat));
app.listen(Number(process.argv[2]), "127.0.0.1");
