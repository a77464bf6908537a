/** A model of the key on an endpoint that is not its own: 400 with the right endpoint. */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { KEYS } from '../../support/manifests.ts';
import { chat, message, nothingLeaks, post, startTestStack } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';

const VIDEO_ROUTE = `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: films}
spec:
  models:
  - {name: film-model, endpoints: [Videos]}
  - {name: draw-and-talk, endpoints: [Chat, Images], contextTokens: 1000, maxOutputTokens: 100}
  channels: [{name: direct, protocol: OpenAI, baseUrl: "http://127.0.0.1:9/v1"}]
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: films}
spec:
  models:
  - {name: film-model, vendor: Films, quotaType: Request, requestUsd: "0.5"}
  - {name: draw-and-talk, vendor: Films, quotaType: Request, requestUsd: "0.5"}
`;

const CHAT = 'answers chats: POST /v1/chat/completions or /v1/messages';
const IMAGES = 'image-model makes images: POST /v1/images/generations';
const EMBEDDINGS =
  'embed-model reads texts and writes none: POST /v1/embeddings, /v1/moderations or /v1/rerank, whichever it is for';
const VIDEOS = 'film-model makes videos: POST /v1/videos';

describe('a model on an endpoint that is not its own', () => {
  let stack: TestStack;
  beforeAll(async () => {
    stack = await startTestStack({ files: () => ({ 'films.yaml': VIDEO_ROUTE }) });
  });
  afterAll(() => stack.stop());

  for (const [path, body, expected] of [
    ['/v1/chat/completions', chat('image-model'), IMAGES],
    ['/v1/chat/completions', chat('embed-model'), EMBEDDINGS],
    ['/v1/chat/completions', chat('film-model'), VIDEOS],
    ['/v1/responses', { model: 'image-model', input: 'x' }, IMAGES],
    ['/v1/embeddings', { model: 'gpt-model', input: 'x' }, `gpt-model ${CHAT}`],
    [
      '/v1/embeddings',
      { model: 'draw-and-talk', input: 'x' },
      `draw-and-talk ${CHAT}; it makes images: POST /v1/images/generations`,
    ],
    ['/v1/images/generations', { model: 'claude-model', prompt: 'x' }, `claude-model ${CHAT}`],
    ['/v1/images/generations', { model: 'film-model', prompt: 'x' }, VIDEOS],
    ['/v1/videos', { model: 'image-model', prompt: 'x' }, IMAGES],
  ] as const) {
    it(`gets 400 wrong_endpoint: ${String(body.model)} on ${path}`, async () => {
      const answer = await post(stack, path, body);
      assert.deepEqual(
        [answer.status, answer.json()],
        [
          400,
          {
            error: { message: expected, type: 'invalid_request_error', param: 'model', code: 'wrong_endpoint' },
          },
        ],
      );
    });
  }
  for (const path of ['/v1/messages', '/v1/messages/count_tokens']) {
    it(`gets invalid_request_error on ${path}`, async () => {
      for (const [model, expected] of [
        ['image-model', IMAGES],
        ['embed-model', EMBEDDINGS],
        ['film-model', VIDEOS],
      ]) {
        const answer = await post(stack, path, message(model));
        assert.equal(answer.status, 400);
        assert.deepEqual(answer.json().error, { type: 'invalid_request_error', message: expected });
      }
    });
  }
  it('gets 404 for a key that may not call the model', async () => {
    const answer = await post(stack, '/v1/chat/completions', chat('image-model'), { 'x-api-key': KEYS.narrow });
    assert.deepEqual([answer.status, answer.json().error.code], [404, 'model_not_found']);
  });
  it('leaves no hold and no slot behind', () => {
    assert.ok(nothingLeaks(stack));
  });
});
