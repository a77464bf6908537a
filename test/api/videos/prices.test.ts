/** Videos priced by the second, and by their size: what is held, billed and refused, whatever the provider reports. */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, beforeEach, describe, it } from 'vitest';
import { KEYS } from '../../support/manifests.ts';
import { serveVideos } from '../../support/video-provider.ts';
import type { VideoJobs } from '../../support/video-provider.ts';
import { get, post, spending, startTestStack } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';

function route({ openaiUrl }: { openaiUrl: string }): string {
  return `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: films}
spec:
  models:
  - {name: by-second, endpoints: [Videos]}
  - {name: by-size, endpoints: [Videos]}
  - {name: two-sizes, endpoints: [Videos]}
  channels: [{name: direct, protocol: OpenAI, baseUrl: "${openaiUrl}/v1"}]
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: films}
spec:
  models:
  - {name: by-second, vendor: Films, quotaType: Request, perSecondUsd: "0.1"}
  - name: by-size
    vendor: Films
    quotaType: Request
    perSecond: [{size: 1280x720, usd: "0.10"}, {size: 1792x1024, usd: "0.30"}, {usd: "0.50"}]
  - name: two-sizes
    vendor: Films
    quotaType: Request
    perSecond: [{size: 1280x720, usd: "0.10"}, {size: 1792x1024, usd: "0.30"}]
`;
}

let stack: TestStack;
let jobs: VideoJobs;

beforeAll(async () => {
  stack = await startTestStack({ files: (urls) => ({ 'films.yaml': route(urls) }) });
});
afterAll(() => stack.stop());
beforeEach(() => {
  stack.openai.clear();
  jobs = serveVideos(stack.openai);
});

/** Created through the gateway; the provider's id differs between tests. */
async function make(asked: Record<string, unknown>): Promise<{ id: string; requestId: string }> {
  const answer = await post(stack, '/v1/videos', { prompt: 'a river', ...asked });
  assert.equal(answer.status, 200, answer.text);
  return { id: answer.json().id, requestId: answer.headers.get('x-request-id') ?? '' };
}

describe('a video', () => {
  it('priced by the second costs no more seconds than were asked for, whatever the response and its job say', async () => {
    for (const [seconds, cost, source] of [
      ['4', '0.40', 'Provider'],
      ['8', '0.80', 'Provider'],
      ['9', '0.80', 'Implausible'],
      [8.2, '0.80', 'Implausible'],
      ['8000', '0.80', 'Implausible'],
      ['86401', '0.80', 'Provider'],
    ] as const) {
      jobs = serveVideos(stack.openai, { seconds });
      const before = (await spending(stack)).spent;
      const { id, requestId } = await make({ model: 'by-second', seconds: '8' });
      jobs.set(id, 'completed');
      assert.equal((await get(stack, `/v1/videos/${id}`)).json().seconds, seconds);
      const usage = (await get(stack, `/v1/usage/${requestId}`)).json();
      assert.deepEqual([usage.cost_usd, usage.usage_source, usage.unbilled_usd], [cost, source, '0.00'], `${seconds}`);
      assert.equal((await spending(stack)).spent - before, BigInt(Math.round(Number(cost) * 1e9)));
    }
  });
  it('priced by the second costs the seconds of the response, and one without seconds is refused', async () => {
    const film = async (asked: object): Promise<Awaited<ReturnType<typeof post>>> =>
      post(stack, '/v1/videos', { model: 'by-second', prompt: 'a river', ...asked });
    const answer = await film({ seconds: '8', n: 2 });
    assert.equal(answer.status, 200, answer.text);
    const usage = (await get(stack, `/v1/usage/${answer.headers.get('x-request-id')}`)).json();
    // the provider makes four seconds of each
    assert.deepEqual([usage.cost_usd, usage.lines[0].dimension, usage.lines[0].quantity], ['0.80', 'second', 8]);
    const sent = stack.openai.requests.length;
    for (const [asked, param] of [
      [{}, 'seconds'],
      [{ seconds: 4, duration: 60 }, 'duration'],
      [{ seconds: 4, input: { duration: 60 } }, 'input.duration'],
      [{ seconds: 4, input: [{ config: { durationSeconds: 60 } }] }, 'input.0.config.durationSeconds'],
      [{ seconds: 4, options: { seconds: 60 } }, 'options.seconds'],
      [{ seconds: 4, 'parameters[duration]': 60 }, 'parameters[duration]'],
      [{ seconds: 4, 'seconds[]': 60 }, 'seconds[]'],
      [{ seconds: 4, extra_body: { seconds: 60 } }, 'extra_body'],
    ] as const) {
      const refused = await film(asked);
      assert.deepEqual(
        [refused.status, refused.json().error.code, refused.json().error.param],
        [400, 'not_allowed', param],
      );
    }
    for (const name of ['parameters[duration]', 'extra_body[seconds]', 'duration[]', 'input.duration']) {
      const form = new FormData();
      for (const [field, value] of [
        ['model', 'by-second'],
        ['prompt', 'x'],
        ['seconds', '4'],
        [name, '60'],
      ])
        form.set(field ?? '', value ?? '');
      const response = await fetch(`${stack.gateway.url}/v1/videos`, {
        method: 'POST',
        headers: { authorization: `Bearer ${KEYS.main}` },
        body: form,
      });
      assert.equal(response.status, 400, name);
    }
    assert.equal(stack.openai.requests.length, sent);
  });

  describe('priced by its size', () => {
    const film = async (asked: object): Promise<Awaited<ReturnType<typeof post>>> =>
      post(stack, '/v1/videos', { prompt: 'a river', seconds: '4', ...asked });

    // 4 seconds at 0.10, 0.30 or, of any other size, 0.50
    it.each<readonly [string, object, unknown, string, string | undefined]>([
      ['1280x720', { size: '1280x720' }, '1280x720', '0.40', '1280x720'],
      ['the larger size', { size: '1792x1024' }, '1792x1024', '1.20', '1792x1024'],
      ['less than was asked for', { size: '1792x1024' }, '1280x720', '0.40', '1280x720'],
      ['no more than was asked for', { size: '1280x720' }, '1792x1024', '0.40', '1280x720'],
      ['what the provider chose', {}, '1792x1024', '1.20', '1792x1024'],
      ['what the provider chose for auto', { size: 'auto' }, '1792x1024', '1.20', '1792x1024'],
      ['any other size', { size: '720x1280' }, '720x1280', '2.00', '720x1280'],
      ['the highest price if nobody names the size', {}, null, '2.00', undefined],
      ['the highest price if the size is no text', {}, 1024, '2.00', undefined],
      [
        'the highest price if another field may be the size',
        { resolution: '4k', size: '1280x720' },
        null,
        '2.00',
        undefined,
      ],
      ['what was made, if another field may be the size', { input: { size: 'x' } }, '1792x1024', '1.20', '1792x1024'],
      ['the highest price if a quality may be the size', { quality: 'hd', size: '1280x720' }, null, '2.00', undefined],
    ])('is billed for %s', async (_, ...[asked, size, cost, billed]) => {
      jobs = serveVideos(stack.openai, { size });
      const { requestId } = await make({ model: 'by-size', seconds: '4', ...asked });
      const usage = (await get(stack, `/v1/usage/${requestId}`)).json();
      assert.deepEqual(
        [usage.cost_usd, usage.unbilled_usd, usage.lines[0].dimension, usage.lines[0].quantity, usage.lines[0].size],
        [cost, '0.00', 'second', 4, billed],
      );
    });

    it('is held at the price of its size, or at the highest if it names none', async () => {
      const { ledger } = stack.gateway;
      const admit = ledger.admit.bind(ledger);
      const held: bigint[] = [];
      ledger.admit = async (request) => {
        held.push(request.amountNanoUsd);
        return admit(request);
      };
      try {
        for (const size of ['1280x720', '1792x1024', '720x1280', undefined])
          assert.equal((await film({ model: 'by-size', size })).status, 200);
        assert.equal((await film({ model: 'two-sizes' })).status, 200);
      } finally {
        ledger.admit = admit;
      }
      assert.deepEqual(held, [400_000_000n, 1_200_000_000n, 2_000_000_000n, 2_000_000_000n, 1_200_000_000n]);
    });

    it('is refused in a size without a price', async () => {
      const refused = await film({ model: 'two-sizes', size: '720x1280' });
      const { code, param, message } = refused.json().error;
      assert.deepEqual([refused.status, code, param], [400, 'not_allowed', 'size']);
      assert.match(message, /Sizes with a price: 1280x720, 1792x1024\./);
    });

    it('is billed by the size of a form', async () => {
      jobs = serveVideos(stack.openai, { size: null });
      for (const [field, cost] of [
        ['size', '0.40'],
        ['options[size]', '2.00'],
      ] as const) {
        const form = new FormData();
        for (const [name, value] of Object.entries({ model: 'by-size', prompt: 'x', seconds: '4' }))
          form.set(name, value);
        form.set(field, '1280x720');
        const response = await fetch(`${stack.gateway.url}/v1/videos`, {
          method: 'POST',
          headers: { authorization: `Bearer ${KEYS.main}` },
          body: form,
        });
        assert.deepEqual([response.status, response.headers.get('x-modelgateway-cost-usd')], [200, cost], field);
      }
    });
  });
});
