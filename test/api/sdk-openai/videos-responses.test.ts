/** The official OpenAI client, unchanged: videos and responses. */
import assert from 'node:assert/strict';
import OpenAI, { toFile } from 'openai';
import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from 'vitest';
import { startTestStack } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';
import { openaiResponse, openaiResponseStream } from '../../support/response-answers.ts';
import { filmOf, serveVideos } from '../../support/video-provider.ts';
import type { VideoJobs } from '../../support/video-provider.ts';
import { Books, caught, collect, free, GPT, openaiClient, paid } from '../../support/api/sdk.ts';

const FILM = 120_000_000n;
const FILMS = (url: string): string => `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: films}
spec:
  models: [{name: film-model, endpoints: [Videos], inputs: [Text, Image]}]
  channels: [{name: only, protocol: OpenAI, baseUrl: "${url}/v1"}]
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: films}
spec: {models: [{name: film-model, vendor: Films, quotaType: Request, requestUsd: "0.12"}]}
`;

let stack: TestStack;
let client: OpenAI;
let books: Books;
let jobs: VideoJobs;

beforeAll(async () => {
  // jobs are polled only when the test's client asks
  stack = await startTestStack({
    files: ({ openaiUrl }) => ({ 'films.yaml': FILMS(openaiUrl) }),
    timers: { every: () => () => undefined },
  });
  client = openaiClient(stack);
  books = new Books(stack);
});
afterAll(() => stack.stop());
beforeEach(() => {
  jobs = serveVideos(stack.openai);
  return books.open();
});
afterEach(() => books.assertChecked());

describe('videos', () => {
  it('are created, polled, downloaded and deleted', async () => {
    const made = await client.videos.create({ model: 'film-model', prompt: 'a river', seconds: '8', size: '1280x720' });
    assert.equal(made.status, 'queued');
    assert.match((await stack.openai.request(0)).headers['content-type'] ?? '', /^multipart\/form-data/);
    assert.equal((await client.videos.retrieve(made.id)).status, 'queued');
    jobs.set(made.id, 'completed');
    assert.equal((await client.videos.retrieve(made.id)).status, 'completed');
    const film = await client.videos.downloadContent(made.id);
    assert.equal(film.headers.get('content-type'), 'video/mp4');
    assert.ok(Buffer.from(await film.arrayBuffer()).equals(filmOf(made.id)));
    assert.equal(await (await client.videos.downloadContent(made.id, { variant: 'thumbnail' })).text(), 'thumb');
    assert.deepEqual(await client.videos.delete(made.id), { id: made.id, object: 'video.deleted', deleted: true });
    await books.check(paid(FILM), free(), free(), free(), free(), free());
  });
  it('start from an image, as a file or by URL', async () => {
    await client.videos.create({
      model: 'film-model',
      prompt: 'a river',
      input_reference: await toFile(Buffer.from('PNG'), 'a.png', { type: 'image/png' }),
    });
    await client.videos.create({
      model: 'film-model',
      prompt: 'a river',
      input_reference: { image_url: 'https://example.com/a.png' },
    });
    assert.match((await stack.openai.request(0)).body.toString(), /name="input_reference"; filename="a\.png"/);
    assert.match((await stack.openai.request(1)).body.toString(), /name="input_reference\[image_url\]"/);
    await books.check(paid(FILM), paid(FILM));
  });
  it('that fail are refunded', async () => {
    const made = await client.videos.create({ model: 'film-model', prompt: 'a river' });
    const [call] = await books.check(paid(FILM));
    jobs.set(made.id, 'failed');
    const { status, error } = await client.videos.retrieve(made.id);
    assert.deepEqual([status, error?.message], ['failed', 'not this']);
    const usage = await client.get<{ cost_usd: string; status: string }>(`/usage/${call?.request_id}`);
    assert.deepEqual([usage.status, usage.cost_usd], ['Refunded', '0.00']);
  });
  it('cannot be listed or remixed, and the error says so', async () => {
    assert.match((await caught(client.videos.list(), OpenAI.NotFoundError)).message, /Keep the id/);
    assert.match(
      (await caught(client.videos.remix('video_1', { prompt: 'x' }), OpenAI.NotFoundError)).message,
      /Make a new one/,
    );
    assert.match(
      (await caught(client.videos.retrieve('video_never'), OpenAI.NotFoundError)).message,
      /no video with that id/,
    );
    await books.check(free(404), free(404), free(404));
  });
});

describe('responses', () => {
  const HELLO = { model: 'gpt-model', input: 'hello' };

  it('are created', async () => {
    stack.openai.script(openaiResponse('Hello there.', { input_tokens: 100, cached: 40, output_tokens: 7 }));
    const response = await client.responses.create(HELLO);
    assert.equal(response.output_text, 'Hello there.');
    await books.check(paid(60n * GPT.input + 40n * GPT.cached + 7n * GPT.output));
  });
  it('stream, as events and as one response', async () => {
    stack.openai.script(openaiResponseStream());
    const events = await collect(await client.responses.create({ ...HELLO, stream: true }));
    assert.equal(
      events
        .filter((event) => event.type === 'response.output_text.delta')
        .map(({ delta }) => delta)
        .join(''),
      'hello',
    );
    assert.equal(events.at(-1)?.type, 'response.completed');
    assert.equal((await client.responses.stream(HELLO).finalResponse()).output_text, 'hello');
    const cost = 10n * GPT.input + 2n * GPT.output;
    await books.check(paid(cost), paid(cost));
  });
  it('that fail or are cut off end with the response as failed', async () => {
    stack.openai.script(
      openaiResponseStream(['four'], { end: 'failed', usage: { input_tokens: 10, output_tokens: 1 } }),
      openaiResponseStream(['four'], { end: 'error' }),
      openaiResponseStream(['four'], { end: 'cut' }),
    );
    for (const words of [/^the mock provider gave up$/, /gave up/, /broke off/]) {
      const events = await collect(await client.responses.create({ ...HELLO, stream: true }));
      const last = events.at(-1);
      assert.ok(last?.type === 'response.failed');
      assert.equal(last.response.status, 'failed');
      assert.match(last.response.error?.message ?? '', words);
    }
    const input = BigInt(Math.ceil(Buffer.byteLength(JSON.stringify({ ...HELLO, stream: true })) / 4) + 3);
    const cut = { status: 200, costNanoUsd: input * GPT.input + GPT.output, source: 'Partial' } as const;
    await books.check(paid(10n * GPT.input + GPT.output), cut, cut);
  });
  it('that this account has not created cannot be fetched, and the error says so', async () => {
    const { message } = await caught(client.responses.retrieve('resp_1'), OpenAI.NotFoundError);
    assert.match(message, /has no such response here/);
    assert.match(
      (await caught(client.responses.create({ ...HELLO, previous_response_id: 'resp_1' }), OpenAI.BadRequestError))
        .message,
      /whole conversation/,
    );
    await books.check(free(404), free(400));
  });
});
