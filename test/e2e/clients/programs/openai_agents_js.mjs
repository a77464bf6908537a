import { Agent, OpenAIChatCompletionsModel, run as runAgent, setTracingDisabled, tool } from '@openai/agents';
import OpenAI from 'openai';
import { z } from 'zod';
import { check, KEY, OPENAI, run } from './harness.mjs';

setTracingDisabled(true);
const weather = tool({
  name: 'weather',
  description: 'The weather in a city.',
  parameters: z.object({ city: z.string() }),
  execute: ({ city }) => `20 C in ${city}`,
});

await run(async (name) => {
  const client = new OpenAI({ baseURL: OPENAI, apiKey: KEY, maxRetries: 0 });
  const model = new OpenAIChatCompletionsModel(client, name);
  const agent = new Agent({ name: 'a', instructions: 'Be brief.', model, tools: [weather] });
  const called = await runAgent(agent, 'use the tool');
  check(called.finalOutput.includes('20 C'), "the tool's result");
  const outputType = z.object({ name: z.string(), age: z.number() });
  check((await runAgent(new Agent({ name: 'b', model, outputType }), 'hello')).finalOutput.name, 'a person');
});
