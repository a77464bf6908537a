/** Encrypted content and ids of Responses: sealed for the client, and opened for the provider. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { RequestFault } from '../../../../dataplane/protocol/call-facts.ts';
import { replaceStrings } from '../../../../dataplane/protocol/json-strings.ts';
import { responsesConverter } from '../../../../dataplane/protocol/openai/responses.ts';
import { createChannelSeal } from '../../../../dataplane/sealing/channel-seal.ts';
import type { ChannelSeal } from '../../../../dataplane/protocol/sealed-values.ts';

const keys = [Buffer.alloc(32, 1)];
const sealOf = (channel: string, account = 'team/a'): ChannelSeal => createChannelSeal({ keys, channel, account });
const [one, two] = [sealOf('openai/one'), sealOf('openai/two')];

function sent(
  body: Readonly<Record<string, unknown>>,
  seal: ChannelSeal | undefined = one,
  previousId?: string,
): {
  readonly json: Record<string, unknown>;
  readonly text: string;
  readonly dropped: readonly string[] | undefined;
} {
  const bytes = Buffer.from(JSON.stringify({ model: 'm', ...body }));
  const storage = { isKept: false, previousId, conversationId: undefined };
  const plan = {
    upstreamModel: 'm',
    maxOutputTokens: undefined,
    outputLimitField: 'max_tokens',
    seal,
    storage,
  } as const;
  const { body: edited, dropped } = responsesConverter.request(bytes, JSON.parse(bytes.toString()), plan);
  const text = Buffer.from(edited).toString();
  return { json: JSON.parse(text), text, dropped };
}

const reasoning = (content: string, more = {}): Record<string, unknown> => ({
  type: 'reasoning',
  id: 'rs_1',
  summary: [],
  encrypted_content: content,
  ...more,
});

describe('a request', () => {
  it("gets the provider's own values", () => {
    const input = [
      reasoning(one.seal('encrypted', 'gAAA=')),
      { type: 'compaction', encrypted_content: one.seal('encrypted', 'cc') },
    ];
    const { json, dropped } = sent({ input, previous_response_id: one.seal('response', 'resp_1') });
    assert.deepEqual(json, {
      model: 'm',
      input: [reasoning('gAAA='), { type: 'compaction', encrypted_content: 'cc' }],
      previous_response_id: 'resp_1',
    });
    assert.equal(dropped, undefined);
    for (const conversation of [one.seal('conversation', 'conv_1'), { id: one.seal('conversation', 'conv_1') }])
      assert.deepEqual(sent({ conversation }).json, { model: 'm', conversation: 'conv_1' });
  });
  it('without sealed values stays byte for byte', () => {
    const input = [reasoning('gAAA='), { role: 'user', content: 'mgw1_encrypted_AAAA' }];
    assert.equal(sent({ input }).text, JSON.stringify({ model: 'm', input }));
  });
  it('loses reasoning of other channels, accounts and gateways, which a header reports', () => {
    const call = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'f', arguments: '{}' };
    const other = createChannelSeal({ keys: [Buffer.alloc(32, 2)], channel: 'openai/one', account: 'team/a' });
    for (const foreign of [two, sealOf('openai/one', 'team/b'), other]) {
      const { json, dropped } = sent({
        input: [
          { role: 'user', content: 'x' },
          reasoning(one.seal('encrypted', 'own')),
          { ...call, call_id: 'call_0' },
          { type: 'function_call_output', call_id: 'call_0', output: 'y' },
          reasoning(foreign.seal('encrypted', 'theirs')),
          call,
          { type: 'function_call_output', id: 'fco_1', call_id: 'call_1', output: 'y' },
        ],
      });
      const { id: _id, ...withoutId } = call;
      assert.deepEqual(json['input'], [
        { role: 'user', content: 'x' },
        reasoning('own'),
        { ...call, call_id: 'call_0' },
        { type: 'function_call_output', call_id: 'call_0', output: 'y' },
        withoutId,
        { type: 'function_call_output', id: 'fco_1', call_id: 'call_1', output: 'y' },
      ]);
      assert.deepEqual(dropped, ['input[].encrypted_content']);
    }
    assert.deepEqual(sent({ input: [reasoning(one.seal('thinking', 'of another kind'))] }).json['input'], []);
  });
  it('loses reasoning without a proof where it continues a response that the gateway keeps', () => {
    const { encrypted_content: _proof, ...unproven } = reasoning('');
    const message = { type: 'message', role: 'assistant', id: 'msg_1', content: [] };
    const input = [unproven, message, reasoning(one.seal('encrypted', 'own')), reasoning('gAAA=')];
    const { json, dropped } = sent({ input }, one, 'resp_kept');
    const { id: _id, ...withoutId } = message;
    assert.deepEqual(json['input'], [withoutId, reasoning('own'), reasoning('gAAA=')]);
    assert.deepEqual(dropped, ['input[].encrypted_content']);
    assert.deepEqual(
      sent({ input: [{ ...unproven, encrypted_content: null }] }, undefined, 'resp_kept').json['input'],
      [],
    );
    assert.equal(
      sent({ input: [unproven] }).text,
      JSON.stringify({ model: 'm', input: [unproven] }),
      'the client has it',
    );
  });
  it('is refused with a response or a compacted conversation of another channel', () => {
    for (const body of [
      { previous_response_id: two.seal('response', 'resp_1') },
      { input: [{ type: 'compaction', encrypted_content: two.seal('encrypted', 'cc') }] },
      { conversation: two.seal('conversation', 'conv_1') },
      { conversation: one.seal('response', 'resp_1') },
    ]) {
      assert.throws(() => sent(body), RequestFault);
      assert.throws(() => sent(body, sealOf('openai/two', 'team/b')), RequestFault);
    }
  });
});

const RESPONSE = {
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  previous_response_id: 'resp_0',
  output: [reasoning('gA/A='), { type: 'message', content: [{ type: 'output_text', text: 'say "resp_1"' }] }],
};

function checkResponse(response: typeof RESPONSE): void {
  assert.deepEqual(one.open(response.id), {
    kind: 'response',
    channel: 'openai/one',
    data: 'resp_1',
    images: false,
  });
  assert.equal(one.open(response.previous_response_id)?.data, 'resp_0');
  const [item, message] = response.output;
  assert.deepEqual(one.open((item as { encrypted_content: string }).encrypted_content), {
    kind: 'encrypted',
    channel: 'openai/one',
    data: 'gA/A=',
    images: false,
  });
  assert.deepEqual(message, RESPONSE.output[1]);
}

describe('a response', () => {
  const answer = { id: 'req_1', createdSeconds: 0, nowSeconds: () => 0, estimatedInputTokens: 0 };
  it('has its values sealed as a whole', () => {
    for (const text of [JSON.stringify(RESPONSE), JSON.stringify(RESPONSE).replaceAll('gA/A', String.raw`gA\/A`)]) {
      const { body } = responsesConverter.response(Buffer.from(text), { ...answer, seal: one });
      checkResponse(JSON.parse(Buffer.from(body).toString()));
    }
    const { body } = responsesConverter.response(Buffer.from(JSON.stringify(RESPONSE)), answer);
    assert.equal(Buffer.from(body).toString(), JSON.stringify(RESPONSE), 'without a key nothing changes');
  });
  it('has them sealed in every event, consistently', () => {
    const stream = responsesConverter.stream({ ...answer, model: 'm', wantsStreamUsage: true, seal: one });
    const event = (type: string, more: object): string =>
      `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: 0, ...more })}\n\n`;
    const delta = event('response.output_text.delta', { item_id: 'msg_1', delta: 'resp_1' });
    const pushed = Buffer.from(
      stream.push(
        Buffer.from(
          [
            event('response.created', { response: { ...RESPONSE, status: 'in_progress' } }),
            event('response.output_item.done', { output_index: 0, item: RESPONSE.output[0] }),
            delta,
            event('response.completed', { response: RESPONSE }),
          ].join(''),
        ),
      ),
    ).toString();
    const end = stream.end();
    assert.ok(end.outcome === 'Complete');
    assert.ok(pushed.endsWith(delta));
    const events = (pushed + Buffer.from(end.last).toString())
      .split('\n\n')
      .filter(Boolean)
      .map((text) => JSON.parse(text.slice(text.indexOf('data: ') + 'data: '.length)));
    const [created, done, , completed] = events;
    checkResponse(created.response);
    checkResponse(completed.response);
    assert.equal(created.response.id, completed.response.id);
    assert.equal(done.item.encrypted_content, completed.response.output[0].encrypted_content);
  });
  it('that fails has them sealed too', () => {
    const stream = responsesConverter.stream({ ...answer, model: 'm', wantsStreamUsage: true, seal: one });
    const error = { code: 'server_error', message: 'x' };
    const failed = { type: 'response.failed', response: { ...RESPONSE, error } };
    stream.push(Buffer.from(`event: response.failed\ndata: ${JSON.stringify(failed)}\n\n`));
    const end = stream.end();
    assert.ok(end.outcome === 'Failed');
    assert.ok(!Buffer.from(end.last).toString().includes('"resp_1"'));
  });

  it('has many of them sealed in one pass, however they are escaped', () => {
    // one replacement after the other takes minutes
    const values = Array.from({ length: 8_000 }, (_, index) => `g"A/\\é${index}`);
    const output = values.map((value) => reasoning(value));
    const text = JSON.stringify({ ...RESPONSE, output })
      .replaceAll('/', String.raw`\/`)
      .replaceAll('é', String.raw`\u00e9`);
    const { body } = responsesConverter.response(Buffer.from(text), { ...answer, seal: one });
    const sealed = JSON.parse(Buffer.from(body).toString()).output.map(
      (item: { encrypted_content: string }) => one.open(item.encrypted_content)?.data,
    );
    assert.deepEqual(sealed, values);
  });
});

describe('strings of JSON', () => {
  it('are replaced where they are whole, in every line of a text', () => {
    const text = 'event: a "b\ndata: {"x":"b","y":["b","ab","\\"b\\"","\\u0062"],\ndata: "b":"\\\\","z":"b"}\n: "\n"b';
    const replaced = 'event: a "b\ndata: {"x":"c","y":["c","ab","\\"b\\"","c"],\ndata: "c":"\\\\","z":"c"}\n: "\n"b';
    assert.equal(replaceStrings(text, new Map([['b', 'c']])), replaced);
    assert.equal(replaceStrings('"\\', new Map([['b', 'c']])), '"\\');
    assert.equal(replaceStrings('', new Map([['b', 'c']])), '');
  });
});
