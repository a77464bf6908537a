/**
 * Responses full of encrypted items, in every way in which a provider's answer reaches a client: they are read and
 * sealed on the worker thread, once per value, and their bytes count for the key. What is counted is work and bytes.
 */
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, it } from 'vitest';
import { KEYS } from '../../support/manifests.ts';
import { gate } from '../../support/mock-provider.ts';
import type { Reply, Step } from '../../support/mock-provider.ts';
import { json, sse } from '../../support/provider-answers.ts';
import { openaiResponse } from '../../support/response-answers.ts';
import { ManualClock } from '../../support/api/manual-clock.ts';
import { get, nothingLeaks, post, startTestStack } from '../../support/api/test-stack.ts';
import type { Answer, TestStack } from '../../support/api/test-stack.ts';

const MIB = 2 ** 20;
/** A quarter of the memory. */
const KEY_BYTES = 4 * MIB;
/** As many as took 4.7 s of the main thread. */
const ITEMS = 2_000;
const AT_ONCE = 40;
/** A text of this size or more is for the worker thread. */
const LARGE = 64 * 1024;

/** What the main thread has done: values sealed or opened, and large texts parsed. */
const work = { derivations: 0, largeParses: 0 };
const { hkdfSync } = crypto;
const { parse } = JSON;

let stack: TestStack;
const clock = new ManualClock('2026-11-21T12:00:00Z');

beforeAll(async () => {
  crypto.hkdfSync = (...given) => {
    work.derivations++;
    return hkdfSync(...given);
  };
  syncBuiltinESMExports();
  JSON.parse = (text: string, ...more) => {
    if (text.length >= LARGE) work.largeParses++;
    return parse(text, ...more) as unknown;
  };
  stack = await startTestStack({
    maxBodyBytes: MIB,
    maxBufferedBytes: 4 * KEY_BYTES,
    ...clock.options,
  });
});
afterAll(async () => {
  crypto.hkdfSync = hkdfSync;
  syncBuiltinESMExports();
  JSON.parse = parse;
  await stack.stop();
});
beforeEach(() => stack.openai.clear());

const REASONING = Array.from({ length: ITEMS }, (_, index) => ({
  type: 'reasoning',
  id: `rs_${index}`,
  summary: [],
  encrypted_content: `gAAAA-own-${index}-${'x'.repeat(500)}`,
}));
const USAGE = { input_tokens: 10, output_tokens: 2, total_tokens: 12 };

function responseOf(more: object = {}): object {
  return { id: 'resp_own', object: 'response', status: 'completed', output: REASONING, usage: USAGE, ...more };
}

function streamOf(response: object): Reply {
  const event = (type: string, data: object): string => sse({ event: type, data: { type, ...data } });
  return {
    headers: { 'content-type': 'text/event-stream' },
    steps: [
      event('response.created', { response: { ...response, status: 'in_progress', output: [], usage: null } }),
      event('response.completed', { response }),
    ],
  };
}

/** The id of a response that the provider keeps. */
async function kept(): Promise<string> {
  stack.openai.script(openaiResponse());
  const { id } = (await post(stack, '/v1/responses', { model: 'gpt-model', input: 'x' })).json();
  stack.openai.clear();
  return id;
}

const ASK = { model: 'gpt-model', input: 'x', max_output_tokens: 20 };
const LIST = { object: 'list', data: REASONING };
const COMPACTION = { id: 'cmp_1', object: 'response.compaction', output: REASONING, usage: USAGE };

/** By what it is called, and what the provider answers. */
const WAYS: readonly (readonly [name: string, reply: () => Reply, ask: (id: string) => Promise<Answer>])[] = [
  ['a whole response', () => json(responseOf()), () => post(stack, '/v1/responses', ASK)],
  ['a compressed response', () => compressed(responseOf()), () => post(stack, '/v1/responses', ASK)],
  ['a stream', () => streamOf(responseOf()), () => post(stack, '/v1/responses', { ...ASK, stream: true })],
  [
    'a stream without a blank line at its end',
    () => withoutEnd(streamOf(responseOf())),
    () => post(stack, '/v1/responses', { ...ASK, stream: true }),
  ],
  ['a compaction', () => json(COMPACTION), () => post(stack, '/v1/responses/compact', ASK)],
  ['a stored response', () => json(responseOf()), (id) => get(stack, `/v1/responses/${id}`)],
  [
    'a stored response as a stream',
    () => streamOf(responseOf()),
    (id) => get(stack, `/v1/responses/${id}?stream=true`),
  ],
  ['a list of its input', () => json(LIST), (id) => get(stack, `/v1/responses/${id}/input_items`)],
];

function compressed(content: object): Reply {
  const { headers } = json({});
  return { headers: { ...headers, 'content-encoding': 'gzip' }, steps: [gzipSync(JSON.stringify(content))] };
}

function withoutEnd(reply: Reply): Reply {
  const last = reply.steps.at(-1);
  assert.ok(typeof last === 'string');
  return { ...reply, steps: [...reply.steps.slice(0, -1), last.trimEnd()] };
}

describe('2,000 encrypted items', () => {
  for (const [name, reply, ask] of WAYS)
    it(`in ${name} are sealed once each, and not on the main thread`, async () => {
      const id = await kept();
      stack.openai.script(reply());
      work.derivations = work.largeParses = 0;
      const answer = await ask(id);
      const done = { ...work };
      assert.equal(answer.status, 200, answer.text.slice(0, 300));
      const sealed = answer.text.match(/"mgw1_encrypted_[\w-]+"/g) ?? [];
      assert.deepEqual([sealed.length, new Set(sealed).size], [ITEMS, ITEMS]);
      assert.ok(!answer.text.includes('gAAAA-own'));
      assert.ok(!answer.text.includes('resp_own'));
      assert.ok(done.derivations < 20, `${done.derivations} values on the main thread`);
      assert.equal(done.largeParses, 0);
      assert.ok(nothingLeaks(stack));
    });

  it('in a stream have the id that the client has, and open again', async () => {
    stack.openai.script(streamOf(responseOf()));
    const { text } = await post(stack, '/v1/responses', { ...ASK, stream: true });
    const ids = text.match(/"mgw1_response_[\w-]+"/g) ?? [];
    assert.deepEqual([ids.length, new Set(ids).size], [2, 1]);
    const [sealed = ''] = text.match(/mgw1_encrypted_[\w-]+/) ?? [];
    stack.openai.clear();
    stack.openai.script(openaiResponse());
    const item = { type: 'reasoning', id: 'rs_0', summary: [], encrypted_content: sealed };
    const again = await post(stack, '/v1/responses', { ...ASK, input: [item, { role: 'user', content: 'x' }] });
    assert.equal(again.status, 200, again.text);
    const { input } = (await stack.openai.request(0)).json() as { input: readonly (typeof REASONING)[0][] };
    assert.equal(input[0]?.encrypted_content, REASONING[0]?.encrypted_content);
  });

  it('in a background response that is polled are read on the worker thread, and billed', async () => {
    stack.openai.script((request) =>
      json(
        request.method === 'POST'
          ? responseOf({ status: 'queued', background: true, output: [], usage: null })
          : responseOf({ background: true }),
      ),
    );
    const made = await post(stack, '/v1/responses', { ...ASK, background: true });
    assert.equal(made.status, 200, made.text);
    work.derivations = work.largeParses = 0;
    for (let turns = 0; ; turns++) {
      assert.ok(turns < 5_000, 'the poller did not bill it');
      clock.nowMs += 1_000;
      clock.tick();
      const record = await stack.gateway.ledger.readUsage('team/main', made.headers.get('x-request-id') ?? '');
      if (record?.status !== 'Running') break;
      await new Promise((resolve) => {
        setTimeout(resolve, 2);
      });
    }
    assert.equal(work.largeParses, 0);
    assert.ok(nothingLeaks(stack));
  });
});

describe('40 at once', () => {
  /** A response of 3 MiB, of which one fits into the memory of a key. */
  const PART = 'x'.repeat(3 * MIB);

  /** Holds each response back when all but its end has come. */
  function halting(head: string, end: string): { readonly reply: Reply; readonly open: () => void } {
    const gates = Array.from({ length: AT_ONCE }, () => gate());
    let count = 0;
    const steps = (): readonly Step[] => [head + PART, gates[count++] ?? gate(), end];
    return {
      get reply() {
        return { headers: head.startsWith('{') ? {} : { 'content-type': 'text/event-stream' }, steps: steps() };
      },
      open: () => gates.forEach((each) => each.open()),
    };
  }

  const EVENT = 'event: response.completed\ndata: {"type":"response.completed","response":';
  const RESPONSE = '{"id":"resp_own","object":"response","status":"completed","output":[],"x":"';
  const WAYS_AT_ONCE: readonly (readonly [string, string, string, (id: string) => Promise<Answer>])[] = [
    ['whole responses', RESPONSE, '"}', () => post(stack, '/v1/responses', ASK)],
    ['streams', EVENT + RESPONSE, '"}}\n\n', () => post(stack, '/v1/responses', { ...ASK, stream: true })],
    ['stored responses', RESPONSE, '"}', (id) => get(stack, `/v1/responses/${id}`)],
    ['streams of stored responses', EVENT + RESPONSE, '"}}\n\n', (id) => get(stack, `/v1/responses/${id}?stream=true`)],
  ];
  for (const [name, head, end, ask] of WAYS_AT_ONCE)
    it(`${name} are read as far as the memory of their key goes, which is free again afterwards`, async () => {
      const id = await kept();
      for (let turn = 0; turn < 2; turn++) {
        const halted = halting(head, end);
        stack.openai.script(() => halted.reply);
        let refused = 0;
        const answers = Array.from({ length: AT_ONCE }, async () => {
          const { text } = await ask(id);
          if (text.includes('as much memory as one API key may')) refused++;
          if (refused === AT_ONCE - 1) halted.open();
          return text;
        });
        const texts = await Promise.all(answers);
        assert.equal(texts.filter((text) => text.includes('mgw1_response_')).length, 1);
        assert.equal(refused, AT_ONCE - 1);
        stack.openai.clear();
      }
      assert.ok(nothingLeaks(stack));
    });

  it('leave room for the calls of others', async () => {
    const halted = halting(RESPONSE, '"}');
    stack.openai.script((request) => (request.json()['user'] === 'other' ? openaiResponse() : halted.reply));
    const first = post(stack, '/v1/responses', ASK);
    await stack.openai.request(0);
    const other = await post(stack, '/v1/responses', { ...ASK, user: 'other' }, { 'x-api-key': KEYS.small });
    assert.equal(other.status, 200, other.text);
    halted.open();
    assert.equal((await first).status, 200);
  });
});
