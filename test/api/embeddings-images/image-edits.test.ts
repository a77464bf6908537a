/** Edits and variations of images over HTTP: forms and JSON, whole and streamed, and what each costs. */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { KEYS } from '../../support/manifests.ts';
import { CUT, gate, RESET } from '../../support/mock-provider.ts';
import {
  gated,
  json,
  openaiError,
  openaiImageEvents,
  openaiImages,
  sse,
  sseReply,
} from '../../support/provider-answers.ts';
import { get, post, spending, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { Answer, Json, TestStack } from '../../support/api/test-stack.ts';
import { leaveAfter, settledUsage } from '../hostile/route-world.ts';

const [GENERATIONS, EDITS, VARIATIONS] = ['/v1/images/generations', '/v1/images/edits', '/v1/images/variations'];
const PIXELS = Buffer.from([0x89, 80, 78, 71, 13, 10, 0, 0xff]);
const DATA_URL = `data:image/png;base64,${PIXELS.toString('base64')}`;

let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack({
    files: ({ openaiUrl, anthropicUrl }) => ({
      'painters.yaml': `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: painters}
spec:
  models:
  - {name: painter, endpoints: [Images], inputs: [Text, Image]}
  - {name: flat-painter, endpoints: [Images], inputs: [Text, Image]}
  channels:
  - {name: c, protocol: OpenAI, baseUrl: "${openaiUrl}/v1", models: [{name: painter, upstreamName: up}, {name: flat-painter, upstreamName: flat}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: archive}
spec:
  models: [{name: archive-painter, endpoints: [Images], inputs: [Text, Image], allow: [FileReferences]}]
  channels: [{name: c, protocol: OpenAI, baseUrl: "${openaiUrl}/v1"}]
  allow: {fields: [num_images, output_format, svg]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: elsewhere}
spec:
  models: [{name: claude-painter, endpoints: [Images], inputs: [Text, Image]}]
  channels: [{name: c, protocol: Anthropic, baseUrl: "${anthropicUrl}"}]
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: painters}
spec:
  models:
  - name: painter
    vendor: V
    quotaType: Request
    perImage:
    - {size: 1024x1024, quality: low, usd: "0.011"}
    - {size: 1024x1024, quality: high, usd: "0.167000001"}
    - {size: 1536x1024, usd: "0.06"}
  - {name: flat-painter, vendor: V, quotaType: Request, requestUsd: "0.000000007"}
  - {name: archive-painter, vendor: V, quotaType: Request, requestUsd: "0.04"}
  - {name: claude-painter, vendor: V, quotaType: Request, requestUsd: "0.04"}
`,
    }),
  });
});
afterAll(() => stack.stop());
afterEach(() => tidyUp(stack));

type Fields = Readonly<Record<string, string | readonly Blob[]>>;

const PICTURE = [new Blob([PIXELS], { type: 'image/png' })];
const EDIT: Fields = { model: 'painter', prompt: 'a hat', image: PICTURE };
const JSON_EDIT = { model: 'painter', prompt: 'a hat', images: [{ image_url: DATA_URL }] };

/** Sends a form as browsers and SDKs write it. */
async function send(path: string, fields: Fields, key: string = KEYS.main): Promise<Answer> {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields))
    if (typeof value === 'string') form.set(name, value);
    else for (const file of value) form.append(name, file, 'a.png');
  const request = new Request('http://x', { method: 'POST', body: form });
  const headers = { 'content-type': request.headers.get('content-type') ?? '', authorization: `Bearer ${key}` };
  return post(stack, path, new Uint8Array(await request.arrayBuffer()), headers);
}

async function received(index = 0): Promise<FormData> {
  const { headers, body } = await stack.openai.request(index);
  const type = { 'content-type': headers['content-type'] ?? '' };
  return new Response(new Uint8Array(body), { headers: type }).formData();
}

async function costOf(answer: Answer): Promise<string> {
  assert.equal(answer.status, 200, answer.text);
  return (await usageOf(answer)).cost_usd;
}

async function usageOf(answer: Answer): Promise<Json> {
  return (await get(stack, `/v1/usage/${answer.headers.get('x-request-id')}`)).json();
}

/** The hold of a call while it is at the provider. */
async function held(call: () => Promise<Answer>): Promise<bigint> {
  const { reply, gate: wait } = gated(openaiImages(1));
  stack.openai.script(reply);
  const answer = call();
  await wait.reached;
  const { held: amount } = await spending(stack);
  wait.open();
  assert.equal((await answer).status, 200);
  return amount;
}

describe('an edit', () => {
  it('is a form with pictures and a mask, written anew with the model renamed', async () => {
    stack.openai.script(openaiImages(2));
    const answer = await send(EDITS, {
      ...EDIT,
      image: [],
      'image[]': [...PICTURE, ...PICTURE],
      mask: PICTURE,
      n: '2',
      size: '1024x1024',
      quality: 'low',
    });
    assert.equal(answer.headers.get('x-modelgateway-cost-usd'), '0.022');
    assert.equal(answer.json().data.length, 2);
    const sent = await stack.openai.request(0);
    assert.equal(sent.path, '/v1/images/edits');
    assert.match(sent.headers['content-type'] ?? '', /^multipart\/form-data; boundary=modelgateway-[0-9a-f]{48}$/);
    const form = await received();
    assert.deepEqual([form.get('model'), form.get('prompt'), form.get('n')], ['up', 'a hat', '2']);
    const files = [...form.getAll('image[]'), form.get('mask')];
    assert.equal(files.length, 3);
    for (const file of files) {
      assert.ok(file instanceof File && file.type === 'image/png');
      assert.deepEqual(Buffer.from(await file.arrayBuffer()), PIXELS);
    }
  });
  it('is JSON with pictures, relayed byte for byte but for the model', async () => {
    stack.openai.script(json({ created: 1, data: [{ b64_json: 'AA==' }], size: '1024x1024', quality: 'high' }));
    const body = `{"images": [{"image_url":"${DATA_URL}"}], "mask":{"image_url":"${DATA_URL}"}, "model":"painter","prompt":"\\u00e9", "n": 1.0}`;
    const answer = await post(stack, EDITS, body);
    assert.equal(await costOf(answer), '0.167000001');
    assert.equal((await stack.openai.request(0)).body.toString(), body.replace('"painter"', '"up"'));
  });
  it('of a large body takes the same way', async () => {
    stack.openai.script(openaiImages(1));
    const large = { ...JSON_EDIT, model: 'flat-painter', images: [{ image_url: `${DATA_URL}${'A'.repeat(600_000)}` }] };
    assert.equal(await costOf(await post(stack, EDITS, large)), '0.000000007');
    const file = [new Blob([Buffer.alloc(3 * 2 ** 20, 7)], { type: 'image/png' })];
    assert.equal(await costOf(await send(EDITS, { ...EDIT, model: 'flat-painter', image: file })), '0.000000007');
    const [sent] = (await received(1)).getAll('image');
    assert.ok(sent instanceof File && sent.size === 3 * 2 ** 20);
  });
  it('holds the dearest that nobody names, and is billed by what the response names', async () => {
    assert.equal(await held(() => send(EDITS, EDIT)), 167_000_001n);
    assert.equal(await held(() => send(EDITS, { ...EDIT, n: '3', quality: 'low', size: '1024x1024' })), 33_000_000n);
    assert.equal(await held(() => post(stack, EDITS, { ...JSON_EDIT, n: 2, size: '1536x1024' })), 120_000_000n);
    // a size in settings may be another one
    assert.equal(
      await held(() => send(EDITS, { ...EDIT, size: '1536x1024', 'parameters[size]': '1024x1024' })),
      167_000_001n,
    );
    stack.openai.script(openaiImages(1, { size: '1024x1024', quality: 'low' }));
    assert.equal(await costOf(await send(EDITS, EDIT)), '0.011');
    // more than was asked for is not billed
    stack.openai.script(openaiImages(3, { size: '1024x1024', quality: 'high' }));
    const more = await send(EDITS, { ...EDIT, size: '1024x1024', quality: 'low' });
    assert.deepEqual([await costOf(more), (await usageOf(more)).usage_source], ['0.011', 'Implausible']);
  });
  it('records the tokens that the provider reports, which cost nothing', async () => {
    const usage = {
      input_tokens: 323,
      output_tokens: 272,
      total_tokens: 595,
      input_tokens_details: { image_tokens: 300, text_tokens: 23 },
    };
    stack.openai.script(openaiImages(1, { usage }));
    const record = await usageOf(await send(EDITS, { ...EDIT, model: 'flat-painter' }));
    assert.deepEqual(
      [record.cost_usd, record.input_tokens, record.output_tokens, record.usage_source],
      ['0.000000007', 323, 272, 'Provider'],
    );
  });
});

describe('a variation', () => {
  it('is a form with a picture and no prompt, priced like any image', async () => {
    stack.openai.script(openaiImages(3));
    const fields = { model: 'painter', image: PICTURE, n: '3', size: '1536x1024', response_format: 'b64_json' };
    assert.equal(await costOf(await send(VARIATIONS, fields)), '0.18');
    assert.equal((await stack.openai.request(0)).path, '/v1/images/variations');
    const form = await received();
    assert.deepEqual([form.get('model'), form.get('n'), form.get('response_format')], ['up', '3', 'b64_json']);
    assert.equal(await held(() => send(VARIATIONS, { model: 'painter', image: PICTURE, n: '2' })), 334_000_002n);
  });
});

describe('fewer images than asked for', () => {
  const calls: Readonly<Record<string, () => Promise<Answer>>> = {
    [GENERATIONS]: () => post(stack, GENERATIONS, { model: 'flat-painter', prompt: 'x', n: 3 }),
    [EDITS]: () => send(EDITS, { ...EDIT, model: 'flat-painter', n: '3' }),
    [VARIATIONS]: () => send(VARIATIONS, { model: 'flat-painter', image: PICTURE, n: '3' }),
  };
  for (const [path, call] of Object.entries(calls))
    it(`cost what came: ${path}`, async () => {
      stack.openai.script(json({ created: 1, data: [] }));
      assert.equal(await costOf(await call()), '0.00');
      stack.openai.script(json({ created: 1, data: [{ b64_json: 'AA==' }, { b64_json: null }] }));
      assert.equal(await costOf(await call()), '0.000000007');
      stack.openai.script(openaiImages(3));
      assert.equal(await costOf(await call()), '0.000000021');
      stack.openai.script(openaiError(400, 'moderated'));
      assert.equal((await call()).status, 400);
    });
});

describe('a stream of images', () => {
  const calls = {
    image_edit: (n: string) => send(EDITS, { ...EDIT, model: 'painter', n, stream: 'true', partial_images: '2' }),
    image_generation: (n: string) =>
      post(stack, GENERATIONS, { model: 'painter', prompt: 'x', n: Number(n), stream: true, partial_images: 2 }),
  } as const;
  for (const kind of ['image_edit', 'image_generation'] as const) {
    it(`relays partial images, which cost nothing of their own: ${kind}`, async () => {
      const events = openaiImageEvents({ kind, partial: 2 });
      stack.openai.script(sseReply(...events));
      const answer = await calls[kind]('1');
      assert.equal(answer.text, events.map(sse).join(''));
      const record = await usageOf(answer);
      assert.deepEqual(
        [record.cost_usd, record.status, record.usage_source, record.input_tokens, record.output_tokens],
        ['0.011', 'Succeeded', 'Provider', 50, 272],
      );
    });
    it(`that breaks off costs the complete images that came: ${kind}`, async () => {
      const [partial, whole] = [openaiImageEvents({ kind, partial: 1, completed: 0 }), openaiImageEvents({ kind })];
      for (const [steps, cost] of [
        [[...partial, CUT], '0.00'],
        [[...partial, RESET], '0.00'],
        [[...whole, ...partial, CUT], '0.011'],
        [[...whole, ...whole, ...partial, RESET], '0.022'],
        [[...whole, { event: 'error', data: { type: 'error', error: { message: 'broke' } } }], '0.011'],
      ] as const) {
        stack.openai.script(sseReply(...steps));
        const record = await usageOf(await calls[kind]('4'));
        assert.deepEqual([record.status, record.cost_usd], ['ProviderCut', cost], JSON.stringify(steps));
      }
    });
    it(`of fewer images costs what came, and never more than was asked for: ${kind}`, async () => {
      for (const [completed, n, cost] of [
        [1, '3', '0.011'],
        [3, '3', '0.033'],
        [3, '2', '0.022'],
      ] as const) {
        stack.openai.script(sseReply(...openaiImageEvents({ kind, partial: 2, completed })));
        assert.equal((await usageOf(await calls[kind](n))).cost_usd, cost);
      }
    });
  }
  it('that its client leaves is read to its end, and costs what came', async () => {
    const wait = gate();
    const [partial, ...whole] = openaiImageEvents({ kind: 'image_edit', partial: 1 });
    stack.openai.script(sseReply(partial!, wait, ...whole));
    const body = { ...JSON_EDIT, model: 'flat-painter', n: 2, stream: true, partial_images: 1 };
    const id = await leaveAfter(stack, 'partial_image', body, EDITS);
    wait.open();
    const record = await settledUsage(stack, id);
    assert.deepEqual([record.status, record.cost_usd], ['Succeeded', '0.000000007']);
  });
});

describe('a request that is refused', () => {
  async function refused(call: Promise<Answer>, status: number, code: string, param: string | null): Promise<void> {
    const answer = await call;
    const { error } = answer.json();
    assert.deepEqual([answer.status, error.code, error.param], [status, code, param], answer.text);
    assert.equal(stack.openai.requests.length + stack.anthropic.requests.length, 0);
  }
  for (const [what, fields, status, code, param] of [
    ['no model', { model: '' }, 400, 'invalid_value', 'model'],
    ['an unknown model', { model: 'nobody' }, 404, 'model_not_found', 'model'],
    ['a model that takes text only', { model: 'image-model' }, 400, 'unsupported_image', 'image'],
    ['a model that makes none', { model: 'gpt-model' }, 400, 'wrong_endpoint', 'model'],
    ['a model of another protocol', { model: 'claude-painter' }, 404, 'model_not_found', 'model'],
    ['no picture', { image: [] }, 400, 'invalid_value', 'image'],
    ['a number in words', { n: 'two' }, 400, 'invalid_value', 'n'],
    ['too many images', { n: '11' }, 400, 'invalid_value', 'n'],
    ['an odd flag', { stream: 'True' }, 400, 'invalid_value', 'stream'],
    ['a size without a price', { size: '512x512' }, 400, 'not_allowed', 'size'],
    ['a quality without a price', { size: '1024x1024', quality: 'max' }, 400, 'not_allowed', 'quality'],
    ['a format of several pictures', { output_format: 'gif' }, 400, 'not_allowed', 'output_format'],
    ['several pictures', { frame_count: '16' }, 400, 'not_allowed', 'frame_count'],
    ['a second count', { num_images: '9' }, 400, 'not_allowed', 'num_images'],
    ['a count in settings', { 'parameters[n]': '9' }, 400, 'not_allowed', 'parameters[n]'],
    ['a list of counts', { 'n[]': '9' }, 400, 'invalid_value', 'n[]'],
    ['a list of models', { 'model[]': 'flat-painter' }, 400, 'invalid_value', 'model[]'],
    ['a model in brackets', { '[model]': 'flat-painter' }, 400, 'invalid_value', '[model]'],
    ['a list of sizes', { 'size[]': '1536x1024' }, 400, 'invalid_value', 'size[]'],
    ['a format in settings', { 'parameters[outputFormat]': 'gif' }, 400, 'not_allowed', 'parameters[outputFormat]'],
    ['settings as a text', { extra_body: '{"n":4}' }, 400, 'not_allowed', 'extra_body'],
    ['a model in other letters', { Model: 'flat-painter' }, 400, 'invalid_value', 'Model'],
    ['a stored file', { 'image[file_id]': 'file_1' }, 400, 'not_allowed', 'image[file_id]'],
  ] as const)
    it(`as a form with ${what}`, () => refused(send(EDITS, { ...EDIT, ...fields }), status, code, param));
  for (const [what, more, status, code, param] of [
    ['no prompt', { prompt: '' }, 400, 'invalid_value', 'prompt'],
    ['no pictures', { images: [] }, 400, 'invalid_value', 'image'],
    ['a number as text', { n: '2' }, 400, 'invalid_value', 'n'],
    ['a stored file', { images: [{ file_id: 'file_1' }] }, 400, 'not_allowed', 'images.0.file_id'],
    ['a stored mask', { mask: { file_id: 'file_1' } }, 400, 'not_allowed', 'mask.file_id'],
    ['a second count', { batch_size: 4 }, 400, 'not_allowed', 'batch_size'],
    ['a name in other letters', { Mask: DATA_URL }, 400, 'invalid_value', 'Mask'],
  ] as const)
    it(`as JSON with ${what}`, () => refused(post(stack, EDITS, { ...JSON_EDIT, ...more }), status, code, param));
  it('has a format that another model writes, or is allowed it', async () => {
    const svg = { model: 'painter', prompt: 'x', output_format: 'svg', svg: { model: 'gpt-5.2' } };
    await refused(post(stack, GENERATIONS, svg), 400, 'not_allowed', 'output_format');
    stack.openai.script(openaiImages(1));
    assert.equal(await costOf(await post(stack, GENERATIONS, { ...svg, model: 'archive-painter' })), '0.04');
  });
  it('has no key, an unknown one, or a wrong method', async () => {
    assert.equal((await send(EDITS, EDIT, 'sk-nobody')).status, 401);
    const wrong = await get(stack, EDITS);
    assert.deepEqual([wrong.status, wrong.headers.get('allow')], [405, 'POST']);
    assert.equal(stack.openai.requests.length, 0);
  });
  it('has a broken form, or a part twice', async () => {
    const headers = { 'content-type': 'multipart/form-data; boundary=x' };
    await refused(post(stack, EDITS, '--x\r\nbroken', headers), 400, 'invalid_value', null);
    await refused(send(EDITS, { ...EDIT, image: [...PICTURE, ...PICTURE] }), 400, 'invalid_value', 'image');
  });
  it('passes where the ModelRoute allows what it uses', async () => {
    stack.openai.script(openaiImages(1));
    const fields = { model: 'archive-painter', 'image[file_id]': 'file_1', num_images: '1' };
    assert.equal(await costOf(await send(EDITS, { ...EDIT, ...fields })), '0.04');
  });
});
