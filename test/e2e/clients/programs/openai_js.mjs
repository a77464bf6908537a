import OpenAI from 'openai';
import { zodResponseFormat } from 'openai/helpers/zod';
import { z } from 'zod';
import { check, KEY, OPENAI, run } from './harness.mjs';

const client = new OpenAI({ baseURL: OPENAI, apiKey: KEY, maxRetries: 0 });
const Person = z.object({ name: z.string(), age: z.number().int().min(18) });
const messages = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'hello' },
];
const tools = [
  {
    type: 'function',
    function: {
      name: 'weather',
      description: 'The weather in a city.',
      parse: JSON.parse,
      function: ({ city }) => `20 C in ${city}`,
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    },
  },
];

await run(async (model) => {
  const answer = await client.chat.completions.create({ model, messages });
  check(answer.choices[0].message.content, 'an answer');
  check((await client.chat.completions.stream({ model, messages }).finalContent()).length > 0, 'a stream');
  const response_format = zodResponseFormat(Person, 'person');
  const parsed = await client.chat.completions.parse({ model, messages, response_format });
  check(parsed.choices[0].message.parsed.age >= 18, 'a parsed answer');
  const asked = [{ role: 'user', content: 'use the tool' }];
  const runner = client.chat.completions.runTools({ model, tools, messages: asked });
  check((await runner.finalContent()).includes('20 C'), "the tool's result");
});
