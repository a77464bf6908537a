import Anthropic from '@anthropic-ai/sdk';
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod';
import { z } from 'zod';
import { check, KEY, ROOT, run } from './harness.mjs';

const client = new Anthropic({ baseURL: ROOT, apiKey: KEY, maxRetries: 0 });
const Person = z.object({ name: z.string(), age: z.number().int().min(18) });
const base = { max_tokens: 2000, messages: [{ role: 'user', content: 'hello' }] };
const tools = [
  {
    name: 'weather',
    description: 'The weather in a city.',
    run: ({ city }) => `20 C in ${city}`,
    parse: (input) => input,
    input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
];

await run(async (model) => {
  check((await client.messages.create({ model, ...base })).content[0].text, 'an answer');
  check((await client.messages.stream({ model, ...base }).finalText()).length > 0, 'a stream');
  const output_config = { format: zodOutputFormat(Person) };
  check((await client.messages.parse({ model, ...base, output_config })).parsed_output.age >= 18, 'a parsed answer');
  check((await client.messages.countTokens({ model, messages: base.messages })).input_tokens > 0, 'a count');
  const messages = [{ role: 'user', content: 'use the tool' }];
  const final = await client.beta.messages.toolRunner({ model, max_tokens: 2000, tools, messages });
  check(final.content[0].text.includes('20 C'), "the tool's result");
});
