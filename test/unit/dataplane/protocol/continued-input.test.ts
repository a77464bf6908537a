/** A request that continues a response has its items before its own, in its bytes. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { continueInput, ownResponseId } from '../../../../dataplane/protocol/openai/continued-input.ts';
import { lastEventData } from '../../../../dataplane/protocol/sse.ts';

const ID = `resp_${'0f'.repeat(16)}`;
const continued = (body: string, input: string, output = '[]'): string => {
  const response = Buffer.from(`{"id":"x","output":${output},"text":{"output":[7]}}`);
  return Buffer.from(continueInput(Buffer.from(body), { input: Buffer.from(input), response }).body).toString();
};

describe('an own id', () => {
  it("is the gateway's form, and no provider's", () => {
    assert.equal(ownResponseId(ID), ID);
    for (const other of [undefined, null, 7, { id: ID }, 'resp_1', `${ID}0`, ID.toUpperCase(), `mgw1_response_${ID}`])
      assert.equal(ownResponseId(other), undefined);
  });
});

describe('continued input', () => {
  it('has the items in their order, then a text as a message of the user', () => {
    assert.equal(
      continued(
        `{"model":"m","previous_response_id":"${ID}", "input":"a \\u00e9 [\\"]"}`,
        '[{"n":1}]',
        '[{"n":2},{"n":3}]',
      ),
      '{"model":"m", "input":[{"n":1},{"n":2},{"n":3},{"role":"user","content":"a \\u00e9 [\\"]"}]}',
    );
  });
  it('keeps the other bytes, and numbers of any precision', () => {
    assert.equal(
      continued(` {"input": [ {"n":12345678901234567890} ],"x":1.10,"previous_response_id":"${ID}"} `, '[{"n":1e400}]'),
      ' {"input": [{"n":1e400}, {"n":12345678901234567890} ],"x":1.10} ',
    );
  });
  it('leaves no empty item where a list has none', () => {
    for (const [own, input, output] of [
      ['[]', '[{"n":1}]', '[ ]'],
      ['[ \n ]', '[]', '[{"n":1}]'],
      ['null', '[{"n":1}]', '[]'],
    ] as const)
      assert.deepEqual(JSON.parse(continued(`{"input":${own}}`, input, output)), { input: [{ n: 1 }] });
    assert.deepEqual(JSON.parse(continued('{}', '[{"n":1}]')), { input: [{ n: 1 }] });
    assert.deepEqual(JSON.parse(continued('{"input":[]}', '[]')), { input: [] });
  });
  it('takes the last of several inputs, as every reader of JSON does', () => {
    const twice = continued('{"input":[{"n":2}],"input":[{"n":3}]}', '[{"n":1}]');
    assert.deepEqual(JSON.parse(twice), { input: [{ n: 1 }, { n: 3 }] });
  });
  it('leaves what is no input to the reader', () => {
    assert.deepEqual(JSON.parse(continued('{"input":7}', '[{"n":1}]')), { input: [{ n: 1 }, 7] });
    assert.throws(() => continued('[1]', '[]'), SyntaxError);
  });
});

describe('the data of the last event', () => {
  it('is found whatever texts hold', () => {
    const events = 'event: a\ndata: {"x":"\\ndata: no"}\n\nevent: b\ndata: {"y":"event: c"}\n\n';
    assert.equal(Buffer.from(lastEventData(Buffer.from(events)) ?? '').toString(), '{"y":"event: c"}');
    assert.equal(lastEventData(Buffer.from(': ping\n\n')), undefined);
  });
});
