import { generateObject, generateText, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';
import { check } from './harness.mjs';

const weather = tool({
  description: 'The weather in a city.',
  inputSchema: z.object({ city: z.string() }),
  execute: ({ city }) => `20 C in ${city}`,
});

export async function scenario(model) {
  const settings = { model, maxRetries: 0 };
  check((await generateText({ ...settings, system: 'Be brief.', prompt: 'hello' })).text, 'an answer');
  check((await streamText({ ...settings, prompt: 'hello' }).text).length > 0, 'a stream');
  const schema = z.object({ name: z.string(), age: z.number().int().min(18) });
  check((await generateObject({ ...settings, schema, prompt: 'hello' })).object.age >= 18, 'an object');
  const stepped = await generateText({
    ...settings,
    tools: { weather },
    stopWhen: stepCountIs(3),
    prompt: 'use the tool',
  });
  check(stepped.text.includes('20 C'), "the tool's result");
}
