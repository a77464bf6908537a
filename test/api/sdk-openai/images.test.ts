/** The official OpenAI client, unchanged: images that are generated, edited and varied, whole and streamed. */
import assert from 'node:assert/strict';
import OpenAI, { toFile } from 'openai';
import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from 'vitest';
import { startTestStack } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';
import { openaiImageEvents, openaiImages, sseReply } from '../../support/provider-answers.ts';
import { Books, IMAGE, caught, collect, free, openaiClient, paid } from '../../support/api/sdk.ts';

let stack: TestStack;
let client: OpenAI;
let books: Books;

/** A model of images that takes pictures. */
const brushManifest = (url: string): string => `
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: brush}
spec: {models: [{name: brush, vendor: BFL, quotaType: Request, requestUsd: "0.04"}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: brush}
spec:
  models: [{name: brush, endpoints: [Images], inputs: [Text, Image]}]
  channels: [{name: only, protocol: OpenAI, baseUrl: "${url}/v1"}]
`;

beforeAll(async () => {
  stack = await startTestStack({ files: ({ openaiUrl }) => ({ 'brush.yaml': brushManifest(openaiUrl) }) });
  client = openaiClient(stack);
  books = new Books(stack);
});
afterAll(() => stack.stop());
beforeEach(() => books.open());
afterEach(() => books.assertChecked());

describe('images', () => {
  it('are generated n at a time, and billed by number', async () => {
    stack.openai.script(openaiImages(3), openaiImages());
    const { data } = await client.images.generate({
      model: 'image-model',
      prompt: 'a cat',
      n: 3,
      size: '1024x1024',
      response_format: 'b64_json',
    });
    assert.deepEqual(
      data?.map(({ b64_json: image }) =>
        Buffer.from(image ?? '', 'base64')
          .subarray(1, 4)
          .toString(),
      ),
      ['PNG', 'PNG', 'PNG'],
    );
    assert.deepEqual((await stack.openai.request(0)).json(), {
      model: 'image-model',
      prompt: 'a cat',
      n: 3,
      size: '1024x1024',
      response_format: 'b64_json',
    });
    const { response } = await client.images.generate({ model: 'image-model', prompt: 'a dog' }).withResponse();
    assert.equal(response.headers.get('x-modelgateway-cost-usd'), '0.04');
    await books.check(paid(3n * IMAGE), paid(IMAGE));
  });
  it('stream with partial images', async () => {
    stack.openai.script(sseReply(...openaiImageEvents({ partial: 1 })));
    const events = await collect(
      await client.images.generate({
        model: 'image-model',
        prompt: 'a cat',
        stream: true,
        partial_images: 1,
      }),
    );
    assert.deepEqual(
      events.map(({ type }) => type),
      ['image_generation.partial_image', 'image_generation.completed'],
    );
    await books.check(paid(IMAGE));
  });
});

describe('pictures', () => {
  const picture = async (): Promise<File> => toFile(Buffer.from('PNG'), 'a.png', { type: 'image/png' });

  it('are edited: one, or several with a mask', async () => {
    stack.openai.script(openaiImages(1), openaiImages(2));
    const one = await client.images.edit({ model: 'brush', prompt: 'a hat', image: await picture() });
    const two = await client.images.edit({
      model: 'brush',
      prompt: 'hats',
      image: [await picture(), await picture()],
      mask: await picture(),
      n: 2,
      size: '1024x1024',
    });
    assert.deepEqual([one.data?.length, two.data?.length], [1, 2]);
    const { headers, body } = await stack.openai.request(1);
    const type = { 'content-type': headers['content-type'] ?? '' };
    const sent = await new Response(new Uint8Array(body), { headers: type }).formData();
    assert.deepEqual([sent.getAll('image[]').length, sent.has('mask'), sent.get('n')], [2, true, '2']);
    await books.check(paid(IMAGE), paid(2n * IMAGE));
  });
  it('are edited from JSON', async () => {
    stack.openai.script(openaiImages(1));
    const body = { model: 'brush', prompt: 'a hat', images: [{ image_url: 'https://example.com/a.png' }] };
    const { data } = await client.post<OpenAI.ImagesResponse>('/images/edits', { body });
    assert.equal(data?.length, 1);
    await books.check(paid(IMAGE));
  });
  it('are edited in a stream with partial images', async () => {
    stack.openai.script(sseReply(...openaiImageEvents({ kind: 'image_edit', partial: 2 })));
    const stream = await client.images.edit({
      model: 'brush',
      prompt: 'a hat',
      image: await picture(),
      stream: true,
      partial_images: 2,
    });
    const events = await collect(stream);
    assert.deepEqual(
      events.map(({ type }) => type),
      ['image_edit.partial_image', 'image_edit.partial_image', 'image_edit.completed'],
    );
    const [, , completed] = events;
    assert.ok(completed?.type === 'image_edit.completed' && completed.usage.input_tokens_details.image_tokens === 40);
    await books.check(paid(IMAGE));
  });
  it('are varied', async () => {
    stack.openai.script(openaiImages(3));
    const { data } = await client.images.createVariation({ model: 'brush', image: await picture(), n: 3 });
    assert.equal(data?.length, 3);
    await books.check(paid(3n * IMAGE));
  });
  it('are refused for a model that takes text only', async () => {
    const call = client.images.edit({ model: 'image-model', prompt: 'x', image: await picture() });
    assert.equal((await caught(call, OpenAI.BadRequestError)).code, 'unsupported_image');
    await books.check(free(400));
  });
});
