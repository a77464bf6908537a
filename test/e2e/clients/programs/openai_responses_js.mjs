import OpenAI from 'openai';
import { zodTextFormat } from 'openai/helpers/zod';
import { z } from 'zod';
import { check, KEY, OPENAI, run } from './harness.mjs';

const client = new OpenAI({ baseURL: OPENAI, apiKey: KEY, maxRetries: 0 });
const Person = z.object({ name: z.string(), age: z.number().int().min(18) });
const tools = [
  {
    type: 'function',
    name: 'weather',
    description: 'The weather in a city.',
    strict: true,
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    },
  },
];

await run(async (model) => {
  const answer = await client.responses.create({ model, instructions: 'Be brief.', input: 'hello' });
  check(answer.output_text, 'an answer');

  let deltas = '';
  const stream = client.responses.stream({ model, input: 'hello' });
  stream.on('response.output_text.delta', ({ delta }) => {
    deltas += delta;
  });
  const final = await stream.finalResponse();
  check(deltas !== '' && deltas === final.output_text, 'a stream that adds up to its response');

  const text = { format: zodTextFormat(Person, 'person') };
  const parsed = await client.responses.parse({ model, input: 'hello', text });
  check(parsed.output_parsed.age >= 18, 'a parsed answer');

  const input = [{ role: 'user', content: 'use the tool' }];
  const called = await client.responses.stream({ model, input, tools, store: false }).finalResponse();
  const call = called.output.find(({ type }) => type === 'function_call');
  const { city } = JSON.parse(call.arguments);
  input.push(...called.output, { type: 'function_call_output', call_id: call.call_id, output: `20 C in ${city}` });
  const told = await client.responses.create({ model, input, tools, store: false });
  check(told.output_text.includes('20 C'), "the tool's result");
});
