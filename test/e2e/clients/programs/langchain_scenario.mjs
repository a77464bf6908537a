import { HumanMessage, SystemMessage, ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { z } from 'zod';
import { check } from './harness.mjs';

const weather = tool(({ city }) => `20 C in ${city}`, {
  name: 'weather',
  description: 'The weather in a city.',
  schema: z.object({ city: z.string() }),
});
const Person = z.object({ name: z.string(), age: z.number().int().min(18) });

export async function scenario(llm) {
  check((await llm.invoke([new SystemMessage('Be brief.'), new HumanMessage('hello')])).text, 'an answer');
  check((await Array.fromAsync(await llm.stream('hello'))).length > 0, 'a stream');
  check((await llm.withStructuredOutput(Person, { name: 'person' }).invoke('hello')).age >= 18, 'a structured answer');
  const bound = llm.bindTools([weather]);
  const messages = [new HumanMessage('use the tool')];
  const called = await bound.invoke(messages);
  const [call] = called.tool_calls;
  messages.push(called, new ToolMessage({ content: await weather.invoke(call.args), tool_call_id: call.id }));
  check((await bound.invoke(messages)).text.includes('20 C'), "the tool's result");
}
