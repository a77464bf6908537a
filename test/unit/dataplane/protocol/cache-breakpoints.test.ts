/** The cache breakpoints of converted requests, with which an agent's prompt is cached at Anthropic's providers. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import type { ChatDialect } from '../../../../dataplane/protocol/call-facts.ts';
import { converterFor } from '../../../../dataplane/protocol/providers.ts';

type Fields = Readonly<Record<string, unknown>>;

const TOOL = { type: 'function', function: { name: 'f', parameters: {} } };
const user = (content: unknown): Fields => ({ role: 'user', content });

/** The paths of the breakpoints that are sent. */
function breakpoints(fields: Fields, client: ChatDialect = 'OpenAI', promptCaching?: boolean): readonly string[] {
  const body = Buffer.from(JSON.stringify({ model: 'm', ...fields }));
  const sent = converterFor(client, 'Anthropic').request(body, JSON.parse(body.toString()), {
    upstreamModel: 'claude-opus-4-6',
    maxOutputTokens: 100,
    outputLimitField: 'max_tokens',
    capabilities: { promptCaching },
  });
  const found: string[] = [];
  const walk = (value: unknown, path: string): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [name, member] of Object.entries(value))
      if (name === 'cache_control') found.push(path);
      else walk(member, path === '' ? name : `${path}.${name}`);
  };
  walk(JSON.parse(Buffer.from(sent.body).toString('utf8')), '');
  return found.sort();
}

const AGENT = {
  tools: [TOOL, { ...TOOL, function: { name: 'g' } }],
  messages: [
    { role: 'system', content: 'Be brief.' },
    user('a'),
    {
      role: 'assistant',
      content: 'b',
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'c1', content: 'd' },
    user('e'),
    { role: 'assistant', content: 'f' },
    user('g'),
  ],
};

describe('a converted request', () => {
  it('of an agent has one breakpoint after the system prompt, and one in each of the last two user turns', () =>
    assert.deepEqual(breakpoints(AGENT), ['messages.2.content.1', 'messages.4.content.0', 'system.0']));
  it('without a system prompt has the first breakpoint after the tools', () =>
    assert.deepEqual(breakpoints({ tools: AGENT.tools, messages: [user('a')] }), ['messages.0.content.0', 'tools.1']));
  it('of a later turn has breakpoints without tools; a first question has none', () => {
    assert.deepEqual(breakpoints({ messages: [user('a'), { role: 'assistant', content: 'b' }, user('c')] }), [
      'messages.0.content.0',
      'messages.2.content.0',
    ]);
    assert.deepEqual(breakpoints({ messages: [{ role: 'system', content: 's' }, user('a')] }), []);
  });
  it("has the client's own breakpoints instead, wherever they are", () => {
    const control = { type: 'ephemeral', ttl: '1h' };
    const own = { ...AGENT, tools: [{ ...TOOL, cache_control: control }] };
    assert.deepEqual(breakpoints(own), ['tools.0']);
    assert.deepEqual(breakpoints({ ...AGENT, cache_control: control }), ['']);
  });
  it('of the Responses dialect has breakpoints too', () =>
    assert.deepEqual(
      breakpoints(
        {
          instructions: 's',
          input: [user('a'), { role: 'assistant', content: 'b' }, user('c')],
        },
        'Responses',
      ),
      ['messages.0.content.0', 'messages.2.content.0', 'system.0'],
    ));
  it('has no breakpoints for a model without support', () => assert.deepEqual(breakpoints(AGENT, 'OpenAI', false), []));
});
