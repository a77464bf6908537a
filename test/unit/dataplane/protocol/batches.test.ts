/** The lines of batches: how they are cut, read, written anew and measured. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { LineChunks, linesOf } from '../../../../dataplane/protocol/batches/line-chunks.ts';
import { readBatchState } from '../../../../dataplane/protocol/batches/objects.ts';
import {
  joinRequests,
  readLineFacts,
  splitRequests,
  writeLines,
} from '../../../../dataplane/protocol/batches/requests.ts';
import { readResults } from '../../../../dataplane/protocol/batches/results.ts';
import { RequestFault } from '../../../../dataplane/protocol/call-facts.ts';

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');

describe('chunks of lines', () => {
  it('have every line whole and in order, in pieces of any size', () => {
    const lines = Array.from({ length: 3_000 }, (_, index) => `${index} ${'x'.repeat((index * 31) % 200)}`);
    lines[7] = 'y'.repeat(200_000);
    const bytes = Buffer.from(lines.join('\n'));
    for (const size of [1_000, 65_536, 300_000, bytes.length]) {
      const chunks = new LineChunks();
      const all: Uint8Array[] = [];
      for (let at = 0; at < bytes.length; at += size) all.push(...chunks.push(bytes.subarray(at, at + size)));
      all.push(chunks.end());
      assert.deepEqual(
        all.flatMap((chunk) => linesOf(chunk).map(text)),
        lines,
        String(size),
      );
      assert.ok(all.length > 5, 'it is cut');
    }
  });
  it('leave out blank lines, and count what is pending', () => {
    const chunks = new LineChunks();
    assert.deepEqual(chunks.push(Buffer.from('a\n\n \t\r\nb')), []);
    assert.equal(chunks.pendingBytes, 8);
    assert.deepEqual(linesOf(chunks.end()).map(text), ['a', 'b']);
    assert.equal(chunks.pendingBytes, 0);
  });
});

const body = '{"model":"m","messages":[{"role":"user","content":"hi"}]}';
const line = (more = ''): string =>
  `{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":${body}${more}}`;
const PLAN = { upstreamModel: 'up', stream: false, outputLimitField: 'max_tokens' } as const;

describe('a line', () => {
  it('is read as the body of a single call', () => {
    const [read] = readLineFacts('OpenAI', Buffer.from(line()));
    assert.ok(read && 'facts' in read);
    assert.equal(read.endpoint, '/v1/chat/completions');
    assert.ok('textBytes' in read.facts && read.facts.textBytes === body.length);
  });
  it.each([
    ['no object', '[1]', /JSON object/],
    ['two objects', `${line()}{}`, /not valid JSON/],
    ['an unknown member', line(',"priority":1'), /unknown field "priority"/],
    ['a member twice', line(',"url":"/v1/responses"'), /given twice/],
    ['a member of another case', line(',"Body":{}'), /unknown field "Body"/],
    ['a body with a member twice', line().replace('"model":"m"', '"model":"m","model":"n"'), /"model" is given twice/],
    ['a body with a folded name', line().replace('"model":"m"', '"model":"m","Max_Tokens":1'), /case-sensitive/],
    ['a url that is a name of every object', line().replace('/v1/chat/completions', 'constructor'), /must be one of/],
    ["Anthropic's url", line().replace('/v1/chat/completions', '/v1/messages'), /must be one of/],
  ])('with %s is a fault, after which nothing is read', (_what, faulty, message) => {
    const lines = readLineFacts('OpenAI', Buffer.from(`${line()}\n${faulty}\n${line()}`));
    assert.equal(lines.length, 2);
    const [, read] = lines;
    assert.ok(read && 'fault' in read);
    assert.match(read.fault.message, message);
  });
  it('is written anew, on one line whatever reads it', () => {
    const spread = line().replace('"hi"', '\r"h\u2028\u0085i"').replace('"a"', '"\u2029"');
    const lines = [
      { limit: 7, plan: 1 },
      { limit: 8, plan: 0 },
    ];
    const plan = { protocol: 'OpenAI', plans: [{ ...PLAN, upstreamModel: 'other' }, PLAN], lines } as const;
    const written = text(writeLines('OpenAI', Buffer.from(`${spread}\n${line()}`), plan));
    assert.doesNotMatch(written, /[\r\u2028\u2029\u0085]/);
    const all = written
      .trim()
      .split('\n')
      .map((each) => JSON.parse(each));
    assert.deepEqual(
      all.map(({ custom_id: id, body: { model, messages, max_tokens: limit } }) => [
        id,
        model,
        messages[0].content,
        limit,
      ]),
      [
        ['\u2029', 'up', 'h\u2028\u0085i', 7],
        ['a', 'other', 'hi', 8],
      ],
    );
  });
});

describe("Anthropic's list", () => {
  it('is split without reading it, and joined again', () => {
    const requests = [
      { custom_id: 'a', params: { x: ['"],', '\\"', '}{'] } },
      { custom_id: 'b', params: { y: [[], {}] } },
    ];
    const lines = splitRequests(Buffer.from(JSON.stringify({ requests }, undefined, 2)));
    assert.deepEqual(
      linesOf(lines).map((each) => JSON.parse(text(each))),
      requests,
    );
    assert.deepEqual(JSON.parse(text(joinRequests(lines))), { requests });
  });
  it.each([
    '',
    '{}',
    '[]',
    '{"requests":[',
    '{"requests":[{}]',
    '{"requests":[]} x',
    '{"requests":[],"model":"m"}',
    '{"x":1,"requests":[]}',
    '{"requests":["',
  ])('that is none is a fault: %s', (given) => {
    assert.throws(() => splitRequests(Buffer.from(given)), RequestFault);
  });
});

describe('results', () => {
  const result = (response: unknown): string => JSON.stringify({ custom_id: 'a', response });
  const usage = { prompt_tokens: 3, completion_tokens: 2 };

  it('count what succeeded', () => {
    const lines = [
      result({ status_code: 200, body: { model: 'm-1', choices: [], usage } }),
      result({ status_code: 500, body: { choices: [], usage } }),
      result({ status_code: 200, body: { error: { message: 'no' } } }),
      result(null),
    ];
    const { used, lines: count } = readResults('/v1/chat/completions', Buffer.from(lines.join('\n')));
    assert.equal(count, 4);
    assert.deepEqual(
      used.map(({ meter: { reported }, model }) => [model, reported.input, reported.output]),
      [['m-1', 3, 2]],
    );
  });
  it('of completions without usage are measured by their texts', () => {
    const choices = [
      { index: 0, text: 'four' },
      { index: 1, text: 'more' },
    ];
    const { used } = readResults('/v1/completions', Buffer.from(result({ status_code: 200, body: { choices } })));
    assert.deepEqual(
      used.map(({ meter: { outputBytes } }) => outputBytes),
      [8],
    );
  });
  it('that are no JSON are an error, so that they are asked for again', () => {
    assert.throws(() => readResults('/v1/chat/completions', Buffer.from('{"custom_id"')), SyntaxError);
  });
});

describe('the state of a batch', () => {
  const openai = (more: object): ReturnType<typeof readBatchState> =>
    readBatchState('OpenAI', Buffer.from(JSON.stringify({ id: 'batch_1', endpoint: '/v1/embeddings', ...more })));
  const anthropic = (counts: object, status = 'ended'): ReturnType<typeof readBatchState> =>
    readBatchState(
      'Anthropic',
      Buffer.from(JSON.stringify({ id: 'msgbatch_1', processing_status: status, request_counts: counts })),
    );

  it('is its end, and where its results are', () => {
    assert.deepEqual(openai({ status: 'finalizing', output_file_id: null }).end, undefined);
    const ended = openai({ status: 'expired', output_file_id: 'file-1', request_counts: { completed: 2 } });
    assert.deepEqual(
      [ended.end, ended.results, ended.succeeded, ended.endpoint],
      ['Expired', '/files/file-1/content', 2, '/v1/embeddings'],
    );
    assert.equal(openai({ status: 'completed', output_file_id: '..' }).results, undefined, 'another path');
    assert.equal(openai({ status: 'a new word' }).end, undefined);
  });
  it('of Anthropic follows from its counts', () => {
    assert.equal(anthropic({ succeeded: 1 }, 'canceling').end, undefined);
    assert.equal(anthropic({ succeeded: 1, canceled: 1 }).end, 'Cancelled');
    assert.equal(anthropic({ succeeded: 1, expired: 1 }).end, 'Expired');
    assert.deepEqual([anthropic({ succeeded: 0 }).end, anthropic({ succeeded: 0 }).results], ['Failed', undefined]);
    assert.equal(anthropic({ succeeded: 1 }).results, '/v1/messages/batches/msgbatch_1/results');
  });
  it('of something else is an error', () => {
    for (const given of ['{}', '[]', '{"id":".."}', '{"id":7}'])
      assert.throws(() => readBatchState('OpenAI', Buffer.from(given)), SyntaxError, given);
  });
});
