/**
 * Responses that are long or count in an odd way, as a provider may send them: reading one takes time by its bytes, and
 * never by the numbers in it or by the square of its parts.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import type { ChatDialect } from '../../../../dataplane/protocol/call-facts.ts';
import type { ProviderKind } from '../../../../dataplane/protocol/provider.ts';
import { converterFor } from '../../../../dataplane/protocol/providers.ts';
import { replay, STREAM_REQUEST } from './replay.ts';
import type { Replay } from './replay.ts';

const CLIENTS: readonly ChatDialect[] = ['OpenAI', 'Anthropic', 'Gemini', 'Responses'];
/** So many that the square of it takes a minute. */
const MANY = 50_000;
const LIMIT_SECONDS = 15;

const event = (data: object | string): string => `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
const events = (make: (index: number) => object): string =>
  Array.from({ length: MANY }, (_, index) => event(make(index))).join('');

function run(
  client: ChatDialect,
  [upstream, api]: readonly [ProviderKind, 'Chat' | 'Responses'],
  text: string,
): Replay {
  const bytes = Buffer.from(text);
  const pieces = Array.from({ length: Math.ceil(bytes.length / 65_536) }, (_, index) =>
    bytes.subarray(index * 65_536, (index + 1) * 65_536),
  );
  const before = process.cpuUsage();
  const result = replay(converterFor(client, upstream, api).stream(STREAM_REQUEST), pieces);
  const { user, system } = process.cpuUsage(before);
  assert.ok(user + system < LIMIT_SECONDS * 1e6, `${client}: ${(user + system) / 1e6} s`);
  return result;
}

describe('a candidate of an index that none can have', () => {
  const odd = [2 ** 64, 4_000_000_000, 128, -1, 0.5, 'x', null];

  it('is the first, in whole responses and in streams of chat completions', () => {
    for (const client of CLIENTS)
      for (const index of odd) {
        const choice = { index, finish_reason: 'stop' };
        const whole = { choices: [{ ...choice, message: { role: 'assistant', content: 'hello' } }] };
        const { body } = converterFor(client, 'OpenAI').response(Buffer.from(JSON.stringify(whole)), STREAM_REQUEST);
        assert.match(Buffer.from(body).toString('utf8'), /hello/, client);
        const text = event({ choices: [{ ...choice, delta: { content: 'hello' } }] }) + event('[DONE]');
        const { outcome, sent, last } = run(client, ['OpenAI', 'Chat'], text);
        assert.equal(outcome, 'Complete');
        assert.match(sent + last, /hello/, client);
        assert.ok(Buffer.byteLength(sent + last) < 5_000, client);
      }
  });

  it('is the first in those of Gemini', () => {
    for (const client of CLIENTS)
      for (const index of odd) {
        const response = { candidates: [{ index, content: { parts: [{ text: 'hello' }] }, finishReason: 'STOP' }] };
        const { body } = converterFor(client, 'Gemini').response(Buffer.from(JSON.stringify(response)), STREAM_REQUEST);
        assert.match(Buffer.from(body).toString('utf8'), /hello/, client);
        assert.equal(run(client, ['Gemini', 'Chat'], event(response)).outcome, 'Complete');
      }
  });

  it('does not keep a stream from its end, whatever candidates it began', () => {
    const usage = { prompt_tokens: 1, completion_tokens: 1 };
    const text = events((index) => ({ choices: [{ index, delta: {}, finish_reason: 'stop' }], usage }));
    for (const client of CLIENTS) assert.equal(run(client, ['OpenAI', 'Chat'], text).outcome, 'Complete', client);
  });
});

describe('a stream of very many parts takes time by its length', () => {
  const call = (index: number): object => ({ index, id: `c${index}`, function: { name: 'f', arguments: '{}' } });
  const countOf = ({ sent, last }: Replay): number => (sent + last).match(/"c\d+"/g)?.length ?? 0;

  it('where they are calls', () => {
    const text = events((index) => ({ choices: [{ index: 0, delta: { tool_calls: [call(index)] } }] }));
    for (const client of ['Anthropic', 'Gemini'] as const)
      assert.ok(countOf(run(client, ['OpenAI', 'Chat'], text + event('[DONE]'))) >= MANY, client);
  });

  it('where they are calls with signatures before them', () => {
    const signatures = events((index) => ({
      choices: [
        {
          index: 0,
          delta: {
            reasoning_details: [
              { type: 'reasoning.encrypted', id: `c${index}`, data: 'zz', format: 'google-gemini-v1' },
            ],
          },
        },
      ],
    }));
    const calls = events((index) => ({ choices: [{ index: 0, delta: { tool_calls: [call(index)] } }] }));
    assert.ok(countOf(run('Gemini', ['OpenAI', 'Chat'], signatures + calls + event('[DONE]'))) >= MANY);
  });

  it('where they are items that all begin before the first ends', () => {
    const item = (index: number): object => ({
      output_index: index,
      item: { type: 'function_call', id: `fc${index}`, call_id: `c${index}`, name: 'f', arguments: '{}' },
    });
    const text =
      events((index) => ({ type: 'response.output_item.added', ...item(index) })) +
      events((index) => ({ type: 'response.output_item.done', ...item(index) })) +
      event({ type: 'response.completed', response: { status: 'completed', output: [] } });
    assert.ok(countOf(run('Anthropic', ['OpenAI', 'Responses'], text)) >= MANY);
  });

  it('where each event names other members of usage and end', () => {
    const usage = (index: number): object => ({ [`k${index}`]: index, prompt_tokens: 1, completion_tokens: index });
    const chunks = events((index) => ({ choices: [], usage: usage(index) })) + event('[DONE]');
    assert.equal(run('Anthropic', ['OpenAI', 'Chat'], chunks).meter.reported.output, MANY - 1);
    const deltas = events((index) => ({
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', [`k${index}`]: 1 },
      usage: { output_tokens: index, [`k${index}`]: 1 },
    }));
    const { outcome, meter } = run('OpenAI', ['Anthropic', 'Chat'], deltas + event({ type: 'message_stop' }));
    assert.deepEqual([outcome, meter.reported.output], ['Complete', MANY - 1]);
  });
});
