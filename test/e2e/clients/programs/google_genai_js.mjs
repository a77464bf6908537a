import { GoogleGenAI } from '@google/genai';
import { z } from 'zod';
import { check, KEY, ROOT, run } from './harness.mjs';

const client = new GoogleGenAI({ apiKey: KEY, httpOptions: { baseUrl: ROOT } });
const Person = z.object({ name: z.string(), age: z.number().int().min(18) });
const parametersJsonSchema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const tools = [
  { functionDeclarations: [{ name: 'weather', description: 'The weather in a city.', parametersJsonSchema }] },
];

await run(async (model) => {
  check((await client.models.generateContent({ model, contents: 'hello' })).text, 'an answer');

  let text = '';
  for await (const chunk of await client.models.generateContentStream({ model, contents: 'hello' })) text += chunk.text;
  check(text !== '', 'a stream');

  const config = { responseMimeType: 'application/json', responseJsonSchema: z.toJSONSchema(Person) };
  const parsed = await client.models.generateContent({ model, contents: 'hello', config });
  check(Person.parse(JSON.parse(parsed.text)).age >= 18, 'an answer of the schema');
  check((await client.models.countTokens({ model, contents: 'hello' })).totalTokens > 0, 'a count');

  const chat = client.chats.create({ model, config: { tools } });
  let call;
  for await (const chunk of await chat.sendMessageStream({ message: 'use the tool' }))
    call ??= chunk.functionCalls?.[0];
  const response = { output: `20 C in ${String(call.args.city)}` };
  const told = await chat.sendMessage({ message: [{ functionResponse: { id: call.id, name: call.name, response } }] });
  check(told.text.includes('20 C'), "the tool's result");
});
