/** Sessions of the demo provider with OpenAI's SDK, through a gateway that bills them. */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { WebSocket } from 'ws';
import { startDemoProvider } from '../../../demo/provider.ts';
import type { DemoProvider } from '../../../demo/provider.ts';
import { recordOf, realtimeManifests, startRealtimeStack, Talk } from '../../api/realtime/realtime-stack.ts';
import type { RealtimeStack } from '../../api/realtime/realtime-stack.ts';
import type { Event } from '../../support/realtime-provider.ts';

let provider: DemoProvider;
let stack: RealtimeStack;
beforeAll(async () => {
  provider = await startDemoProvider({ host: '127.0.0.1', port: 0, tokenMs: 0, slowTokenMs: 100 });
  stack = await startRealtimeStack({ files: () => ({ 'realtime.yaml': realtimeManifests(provider.url) }) });
});
afterAll(async () => {
  await stack.stop();
  await provider.stop();
});

type Done = Event & {
  readonly response: {
    readonly status: string;
    readonly output: readonly {
      readonly content: readonly { readonly text?: string; readonly transcript?: string }[];
    }[];
    readonly usage: { readonly output_tokens: number } | null;
  };
};

async function ask(words: string, response: object = {}): Promise<Talk> {
  const talk = new Talk(stack);
  await talk.next('session.created');
  const content = [{ type: 'input_text', text: words }];
  talk.send({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content } });
  await talk.next('conversation.item.done');
  talk.send({ type: 'response.create', response });
  return talk;
}

const doneOf = async (talk: Talk): Promise<Done['response']> => ((await talk.next('response.done')) as Done).response;

describe('a session of the demo provider', () => {
  it('answers in text, and in text with a beep for each token, and is billed', async () => {
    const talk = await ask('say: one two three', { output_modalities: ['text'] });
    const written = await doneOf(talk);
    assert.deepEqual([written.status, written.output[0]?.content[0]?.text], ['completed', 'one two three']);
    talk.send({ type: 'response.create' });
    const spoken = await doneOf(talk);
    assert.equal(spoken.output[0]?.content[0]?.transcript, 'one two three');
    assert.equal(spoken.usage?.output_tokens, 6);
    const beeps = talk.events.filter(({ type }) => type === 'response.output_audio.delta');
    assert.equal(beeps.length, 3);
    assert.ok(beeps.every(({ delta }) => Buffer.from(String(delta), 'base64').length === 2_880));
    talk.sdk.close();
    // input: 4 + 5 tokens, then 4 + 5 and 4 + 3; output: 3 tokens of text, then 3 and 3 of audio
    const record = await recordOf(stack, talk);
    assert.deepEqual([record.cost_usd, record.usage_source, record.status], ['0.000388', 'Provider', 'Succeeded']);
  });

  it('is cancelled, stops at its limit, fails and breaks off as it is asked', async () => {
    const slow = await ask('slow, long 200');
    await slow.next('response.output_audio.delta');
    slow.send({ type: 'response.cancel' });
    const cancelled = await doneOf(slow);
    assert.equal(cancelled.status, 'cancelled');
    assert.ok((cancelled.usage?.output_tokens ?? 0) > 0 && (cancelled.usage?.output_tokens ?? 0) < 100);
    slow.send({ type: 'response.create', response: { max_output_tokens: 4 } });
    const short = await doneOf(slow);
    assert.deepEqual([short.status, short.usage?.output_tokens], ['incomplete', 4]);
    slow.sdk.close();
    const failed = await ask('fail 500');
    assert.equal((await doneOf(failed)).status, 'failed');
    failed.sdk.close();
    const cut = await ask('cut');
    assert.equal((await cut.closed).code, 4502);
  });

  it('hears how many seconds of audio were sent', async () => {
    const talk = new Talk(stack);
    await talk.next('session.created');
    talk.send({ type: 'input_audio_buffer.append', audio: Buffer.alloc(96_000).toString('base64') });
    talk.send({ type: 'input_audio_buffer.commit' });
    await talk.next('input_audio_buffer.committed');
    talk.send({ type: 'response.create', response: { output_modalities: ['text'] } });
    assert.match((await doneOf(talk)).output[0]?.content[0]?.text ?? '', /I sent 2 seconds of audio/);
    talk.sdk.close();
    await talk.closed;
  });

  it('is refused with a wrong credential, and says of an event that it has none', async () => {
    const url = `${provider.url.replace('http', 'ws')}/v1/realtime?model=m`;
    const refused = new WebSocket(url, { headers: { authorization: 'Bearer wrong' } });
    const status = await new Promise((resolve) => {
      refused.on('error', () => undefined).once('unexpected-response', (_, { statusCode }) => resolve(statusCode));
    });
    assert.equal(status, 401);
    const socket = new WebSocket(url);
    const events: string[] = [];
    socket.on('message', (data: Buffer) => events.push(String(data)));
    await new Promise((resolve) => socket.once('open', resolve));
    socket.send('{"type":"session.fork"}');
    socket.send('no JSON');
    while (events.length < 3) await new Promise((resolve) => socket.once('message', resolve));
    assert.match(events[1] ?? '', /has no event session\.fork/);
    assert.match(events[2] ?? '', /not JSON/);
    socket.close();
  });
});
