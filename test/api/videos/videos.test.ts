/** Videos over HTTP: billed when they are created, refunded once when they fail, and accessible to their key only. */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, beforeEach, describe, it } from 'vitest';
import { LedgerUnavailable } from '#ledger/spending.ts';
import { KEYS } from '../../support/manifests.ts';
import { CUT, gate } from '../../support/mock-provider.ts';
import { openaiError } from '../../support/provider-answers.ts';
import { filmOf, serveVideos } from '../../support/video-provider.ts';
import type { VideoJobs } from '../../support/video-provider.ts';
import { ManualClock } from '../../support/api/manual-clock.ts';
import { get, nothingLeaks, post, spending, startTestStack } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';

const PRICE = 120_000_000n;

function route(urls: { openaiUrl: string; anthropicUrl: string }, channel = 'direct', threshold = 3): string {
  return `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: films}
spec:
  models:
  - {name: film-model, endpoints: [Videos], inputs: [Text, Image]}
  - {name: by-second, endpoints: [Videos]}
  channels:
  - {name: ${channel}, protocol: OpenAI, baseUrl: "${urls.openaiUrl}/v1", maxConcurrency: ${threshold},
      models: [{name: film-model, upstreamName: up}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: nofilms}
spec:
  models: [{name: claude-film, endpoints: [Videos]}]
  channels: [{name: direct, protocol: Anthropic, baseUrl: "${urls.anthropicUrl}"}]
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: films}
spec:
  models:
  - {name: film-model, vendor: Films, quotaType: Request, requestUsd: "0.12"}
  - {name: claude-film, vendor: Films, quotaType: Request, requestUsd: "0.12"}
  - {name: by-second, vendor: Films, quotaType: Request, perSecondUsd: "0.1"}
`;
}

let stack: TestStack;
let jobs: VideoJobs;
const clock = new ManualClock('2026-11-21T12:00:00Z');

beforeAll(async () => {
  stack = await startTestStack({
    files: (urls) => ({ 'films.yaml': route(urls) }),
    ...clock.options,
  });
});
afterAll(() => stack.stop());
beforeEach(() => {
  stack.openai.clear();
  jobs = serveVideos(stack.openai);
});

/** Created through the gateway; the provider's id differs between tests. */
async function make(
  more: Record<string, unknown> = {},
  headers: Record<string, string> = {},
): Promise<{ id: string; requestId: string }> {
  const answer = await post(stack, '/v1/videos', { model: 'film-model', prompt: 'a river', ...more }, headers);
  assert.equal(answer.status, 200, answer.text);
  return { id: answer.json().id, requestId: answer.headers.get('x-request-id') ?? '' };
}

async function remove(id: string): Promise<Response> {
  return fetch(`${stack.gateway.url}/v1/videos/${id}`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${KEYS.main}` },
  });
}

/** Advances the poller until it has learned of it. */
async function poll(until: () => Promise<boolean>): Promise<void> {
  await clock.tickUntil(until, 'the poller did not hear of it');
}

async function statusOf(requestId: string): Promise<string> {
  return (await stack.gateway.ledger.readUsage('team/main', requestId))?.status ?? '';
}

describe('a video', () => {
  it('is billed when it is created, by number', async () => {
    const before = (await spending(stack)).spent;
    const answer = await post(stack, '/v1/videos', { model: 'film-model', prompt: 'a river', n: 2, seconds: '8' });
    assert.deepEqual([answer.status, answer.headers.get('x-modelgateway-cost-usd')], [200, '0.24']);
    assert.deepEqual((await stack.openai.request(0)).json(), { model: 'up', prompt: 'a river', n: 2, seconds: '8' });
    assert.equal((await spending(stack)).spent - before, 2n * PRICE);
    assert.ok(nothingLeaks(stack));
  });
  it('is created from a form that is written anew, with its file', async () => {
    const form = new FormData();
    form.set('model', 'film-model');
    form.set('prompt', 'a river');
    form.set(
      'input_reference',
      new Blob([new Uint8Array([0x89, 80, 78, 71, 13, 10, 0])], { type: 'image/png' }),
      'a.png',
    );
    const response = await fetch(`${stack.gateway.url}/v1/videos`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEYS.main}` },
      body: form,
    });
    assert.equal(response.status, 200);
    const sent = await stack.openai.request(0);
    assert.match(sent.headers['content-type'] ?? '', /^multipart\/form-data; boundary=modelgateway-[0-9a-f]{48}$/);
    const received = await new Response(new Uint8Array(sent.body), {
      headers: { 'content-type': sent.headers['content-type'] ?? '' },
    }).formData();
    assert.equal(received.get('model'), 'up');
    const file = received.get('input_reference');
    assert.ok(file instanceof File && file.size === 7 && file.type === 'image/png');
  });
  it('from a form that has a second reading is refused, unread by its provider', async () => {
    const part = (name: string, value: string): string =>
      `Content-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
    const long = ['', part('model', 'sora-2-pro'), part('prompt', 'x'), part('seconds', '12'), '--'].join('--B\r\n');
    const body = [
      ['model', 'by-second'],
      ['prompt', 'x'],
      ['seconds', '1'],
      ['junk', `\r\n${long}`],
    ]
      .map(([name = '', value = '']) => `--A\r\n${part(name, value)}`)
      .join('');
    for (const type of ['boundary=B; x="; boundary=A;"', 'boundary=B; boundary=A', 'boundary=B; BOUNDARY=A']) {
      const answer = await post(stack, '/v1/videos', `${body}--A--\r\n`, {
        'content-type': `multipart/form-data; ${type}`,
      });
      assert.deepEqual([answer.status, stack.openai.requests.length], [400, 0], type);
    }
    const answer = await post(stack, '/v1/videos', `${body}--A--\r\n`, {
      'content-type': 'Multipart/Form-Data; Boundary="A"',
    });
    assert.deepEqual([answer.status, answer.headers.get('x-modelgateway-cost-usd')], [200, '0.10'], answer.text);
    const sent = await stack.openai.request(0);
    const form = await new Response(new Uint8Array(sent.body), {
      headers: { 'content-type': sent.headers['content-type'] ?? '' },
    }).formData();
    assert.deepEqual([form.get('model'), form.getAll('seconds')], ['by-second', ['1']]);
  });
  it('that its provider refuses costs nothing', async () => {
    const before = await spending(stack);
    stack.openai.script(openaiError(400, 'bad size'));
    assert.equal((await post(stack, '/v1/videos', { model: 'film-model', prompt: 'x' })).status, 400);
    assert.deepEqual(await spending(stack), before);
  });
  it('that fails at once costs nothing, and the response says so', async () => {
    jobs = serveVideos(stack.openai, { firstStatus: 'failed' });
    const before = await spending(stack);
    const answer = await post(stack, '/v1/videos', { model: 'film-model', prompt: 'x' });
    assert.deepEqual(
      [answer.status, answer.json().status, answer.headers.get('x-modelgateway-cost-usd')],
      [200, 'failed', '0.00'],
    );
    assert.deepEqual(await spending(stack), before);
    assert.equal((await get(stack, `/v1/videos/${answer.json().id}`)).status, 404);
  });
  it('whose response names none costs nothing', async () => {
    const before = await spending(stack);
    stack.openai.script({ steps: ['{"object":"video"}'] });
    assert.equal((await post(stack, '/v1/videos', { model: 'film-model', prompt: 'x' })).status, 502);
    assert.deepEqual(await spending(stack), before);
  });
  for (const [what, body, status, code] of [
    ['no prompt', { model: 'film-model' }, 400, 'invalid_value'],
    ['an unknown model', { model: 'nothing', prompt: 'x' }, 404, 'model_not_found'],
    ['a model that makes none', { model: 'gpt-model', prompt: 'x' }, 400, 'wrong_endpoint'],
    ['a model of the other protocol', { model: 'claude-film', prompt: 'x' }, 404, 'model_not_found'],
    [
      'a file that is kept',
      {
        model: 'film-model',
        prompt: 'x',
        input_reference: { file_id: 'file_1' },
      },
      400,
      'not_allowed',
    ],
  ] as const) {
    it(`with ${what} is refused`, async () => {
      const answer = await post(stack, '/v1/videos', body);
      assert.deepEqual([answer.status, answer.json().error.code], [status, code]);
      assert.equal(stack.openai.requests.length, 0);
    });
  }
  it('from a broken form is refused', async () => {
    const answer = await post(stack, '/v1/videos', '--x\r\nbroken', {
      'content-type': 'multipart/form-data; boundary=x',
    });
    assert.deepEqual([answer.status, answer.json().error.code], [400, 'invalid_value']);
  });
});

describe('polling a video', () => {
  it("is free, and returns the provider's own response", async () => {
    const { id } = await make();
    const before = await spending(stack);
    jobs.set(id, 'in_progress');
    const answer = await get(stack, `/v1/videos/${id}`);
    assert.deepEqual([answer.status, answer.json().status, answer.json().id], [200, 'in_progress', id]);
    assert.equal((await stack.openai.request(1)).path, `/v1/videos/${id}`);
    assert.deepEqual(await spending(stack), before);
    assert.ok(nothingLeaks(stack));
  });
  it('refunds a failed video, once', async () => {
    const before = (await spending(stack)).spent;
    const { id, requestId } = await make();
    jobs.set(id, 'failed');
    for (let times = 0; times < 3; times++)
      assert.equal((await get(stack, `/v1/videos/${id}`)).json().status, 'failed');
    assert.equal((await spending(stack)).spent, before);
    assert.equal(await statusOf(requestId), 'Refunded');
    const usage = (await get(stack, `/v1/usage/${requestId}`)).json();
    assert.deepEqual([usage.status, usage.cost_usd], ['Refunded', '0.00']);
    await poll(() => Promise.resolve(true));
    assert.equal((await spending(stack)).spent, before);
  });
  it('keeps a completed video billed, whatever the provider reports later', async () => {
    const { id, requestId } = await make();
    jobs.set(id, 'completed');
    await get(stack, `/v1/videos/${id}`);
    jobs.set(id, 'failed');
    await get(stack, `/v1/videos/${id}`);
    assert.equal(await statusOf(requestId), 'Succeeded');
  });
  it('is refused to other keys, with the same error as for an unknown video', async () => {
    const { id } = await make();
    for (const path of [`/v1/videos/${id}`, `/v1/videos/${id}/content`]) {
      const [other, never] = [
        await get(stack, path, { 'x-api-key': KEYS.small }),
        await get(stack, path.replace(id, 'video_never')),
      ];
      assert.deepEqual([other.status, other.json().error.message], [404, never.json().error.message]);
    }
    const response = await fetch(`${stack.gateway.url}/v1/videos/${id}`, {
      method: 'DELETE',
      headers: { 'x-api-key': KEYS.small },
    });
    assert.equal(response.status, 404);
    assert.equal((await get(stack, `/v1/videos/${id}`, { 'no-key': '1' })).status, 401);
    assert.ok(stack.openai.requests.every(({ path }) => !path.endsWith('/content')));
    assert.equal(jobs.deleted.length, 0);
  });
  it("returns the provider's error", async () => {
    const { id } = await make();
    for (const [status, told, code] of [
      [500, 502, 'upstream_error'],
      [401, 502, 'upstream_error'],
      [404, 404, 'not_found'],
      [429, 429, 'rate_limit_exceeded'],
      [409, 409, null],
    ] as const) {
      stack.openai.script(openaiError(status, 'no'));
      const answer = await get(stack, `/v1/videos/${id}`);
      assert.deepEqual([answer.status, answer.json().error.code], [told, code], answer.text);
    }
    stack.openai.script({ steps: ['<html>'] });
    assert.equal((await get(stack, `/v1/videos/${id}`)).status, 502);
    assert.ok(nothingLeaks(stack));
  });
  it('reports a failure only after the refund', async () => {
    const { ledger } = stack.gateway;
    const { id, requestId } = await make();
    jobs.set(id, 'failed');
    const finishJob = ledger.finishJob.bind(ledger);
    ledger.finishJob = () => Promise.reject(new LedgerUnavailable('for a test'));
    try {
      const answer = await get(stack, `/v1/videos/${id}`);
      assert.deepEqual(
        [answer.status, answer.json().error.code, await statusOf(requestId)],
        [503, 'ledger_unavailable', 'Succeeded'],
      );
    } finally {
      ledger.finishJob = finishJob;
    }
    assert.equal((await get(stack, `/v1/videos/${id}`)).json().status, 'failed');
    assert.equal(await statusOf(requestId), 'Refunded');
  });
  it('takes a slot of its key', async () => {
    const { id } = await make({}, { 'x-api-key': KEYS.serial });
    const holding = gate();
    stack.openai.script({ headers: { 'content-type': 'video/mp4' }, steps: [holding, 'film'] });
    const downloading = get(stack, `/v1/videos/${id}/content`, { 'x-api-key': KEYS.serial });
    await holding.reached;
    assert.equal((await get(stack, `/v1/videos/${id}`, { 'x-api-key': KEYS.serial })).status, 429);
    holding.open();
    assert.equal((await downloading).text, 'film');
    assert.equal((await get(stack, '/v1/key', { 'x-api-key': KEYS.serial })).json().spent_usd, '0.12');
  });
  it('takes a slot of its channel', async () => {
    const { id } = await make();
    const holding = gate();
    stack.openai.script({ beforeHead: [holding], steps: ['{"id":"x"}'] });
    const waiting = [1, 2, 3].map(() => get(stack, `/v1/videos/${id}`));
    await Promise.all([1, 2, 3].map((index) => stack.openai.request(index)));
    const answer = await get(stack, `/v1/videos/${id}`);
    assert.deepEqual(
      [answer.status, answer.json().error.code, answer.headers.get('retry-after')],
      [429, 'rate_limit_exceeded', '1'],
    );
    holding.open();
    await Promise.all(waiting);
    assert.ok(nothingLeaks(stack));
  });
});

describe("a video's content", () => {
  it('is returned unchanged, with its length', async () => {
    const { id } = await make();
    const response = await fetch(`${stack.gateway.url}/v1/videos/${id}/content`, {
      headers: { authorization: `Bearer ${KEYS.main}` },
    });
    assert.deepEqual(
      [response.status, response.headers.get('content-type'), response.headers.get('content-length')],
      [200, 'video/mp4', String(filmOf(id).length)],
    );
    assert.ok(Buffer.from(await response.arrayBuffer()).equals(filmOf(id)));
    assert.ok(nothingLeaks(stack));
  });
  it('is returned by range, and in another variant', async () => {
    const { id } = await make();
    const part = await get(stack, `/v1/videos/${id}/content`, { range: 'bytes=5-9' });
    assert.deepEqual(
      [part.status, part.text, part.headers.get('content-range')],
      [206, filmOf(id).toString().slice(5, 10), `bytes 5-9/${filmOf(id).length}`],
    );
    assert.equal((await get(stack, `/v1/videos/${id}/content?variant=thumbnail`)).text, 'thumb');
    assert.equal((await stack.openai.request(2)).path, `/v1/videos/${id}/content?variant=thumbnail`);
  });
  it('is described by HEAD', async () => {
    const { id } = await make();
    const response = await fetch(`${stack.gateway.url}/v1/videos/${id}/content`, {
      method: 'HEAD',
      headers: { authorization: `Bearer ${KEYS.main}` },
    });
    assert.deepEqual(
      [response.status, response.headers.get('content-length'), await response.text()],
      [200, String(filmOf(id).length), ''],
    );
  });
  it('that breaks off before its first byte is an error, not a connection that closes', async () => {
    const { id } = await make();
    const headers = { 'content-type': 'video/mp4', 'content-encoding': 'gzip' };
    stack.openai.script({ headers, steps: ['this is no gzip'] });
    const broken = await get(stack, `/v1/videos/${id}/content`);
    assert.deepEqual([broken.status, broken.json().error.code], [502, 'upstream_error']);
  });

  it('that is cut off is not completed', async () => {
    const { id } = await make();
    stack.openai.script({ headers: { 'content-type': 'video/mp4' }, steps: ['half a film', CUT] });
    await assert.rejects(async () =>
      (
        await fetch(`${stack.gateway.url}/v1/videos/${id}/content`, {
          headers: { authorization: `Bearer ${KEYS.main}` },
        })
      ).text(),
    );
    assert.ok(nothingLeaks(stack));
  });
  it('is stopped when its client disconnects', async () => {
    const { id } = await make();
    const holding = gate();
    stack.openai.script({ headers: { 'content-type': 'video/mp4' }, steps: ['some', holding, 'more'] });
    const leaving = new AbortController();
    const response = await fetch(`${stack.gateway.url}/v1/videos/${id}/content`, {
      headers: { authorization: `Bearer ${KEYS.main}` },
      signal: leaving.signal,
    });
    assert.equal(response.status, 200);
    leaving.abort();
    const asked = await stack.openai.request(1);
    await asked.over;
    assert.ok(asked.clientGone);
    holding.open();
  });
});

describe('deleting a video', () => {
  it('that is complete keeps it billed', async () => {
    const { id, requestId } = await make();
    jobs.set(id, 'completed');
    const response = await remove(id);
    assert.deepEqual([response.status, await response.json()], [200, { id, object: 'video.deleted', deleted: true }]);
    assert.deepEqual([jobs.deleted, await statusOf(requestId)], [[id], 'Succeeded']);
    assert.equal((await get(stack, `/v1/videos/${id}`)).status, 404);
  });
  it('that is running keeps it billed, and ends its polling', async () => {
    const { id, requestId } = await make();
    assert.equal((await remove(id)).status, 200);
    const asked = stack.openai.requests.length;
    clock.nowMs += 120_000;
    clock.tick();
    await stack.gateway.ledger.claimJobs(clock.nowMs, 1, 0);
    assert.equal(stack.openai.requests.filter(({ path }) => path.endsWith(id)).length, asked - 1);
    assert.equal(await statusOf(requestId), 'Succeeded');
  });
  it('that has failed refunds it, although no client knew', async () => {
    const before = (await spending(stack)).spent;
    const { id, requestId } = await make();
    jobs.set(id, 'failed');
    assert.equal((await remove(id)).status, 200);
    assert.deepEqual([await statusOf(requestId), (await spending(stack)).spent], ['Refunded', before]);
  });
  it('is not reported if the provider refuses it', async () => {
    const { id } = await make();
    stack.openai.script({ steps: [`{"id":"${id}","status":"queued"}`] }, openaiError(400, 'still running'));
    const response = await remove(id);
    assert.equal(response.status, 400);
    assert.match(await response.text(), /still running/);
  });
});

describe('the poller', () => {
  it('refunds a failed video although its client never polls', async () => {
    const before = (await spending(stack)).spent;
    const { id, requestId } = await make();
    assert.equal((await spending(stack)).spent, before + PRICE);
    jobs.set(id, 'failed');
    await poll(async () => (await statusOf(requestId)) === 'Refunded');
    assert.equal((await spending(stack)).spent, before);
    await poll(() =>
      Promise.resolve(
        stack.gateway.logs.some(
          (line) => line.includes('job ended') && line.includes(requestId) && line.includes('Failed'),
        ),
      ),
    );
    const metrics = await (await fetch(`${stack.gateway.adminUrl}/metrics`)).text();
    assert.match(metrics, /modelgateway_jobs_ended_total\{model="film-model",group="main",end="Failed"\} \d/);
    assert.equal((await get(stack, `/v1/videos/${id}`)).json().status, 'failed');
    assert.equal((await spending(stack)).spent, before);
  });
  it("continues after a provider's failures", async () => {
    const { id, requestId } = await make();
    stack.openai.script(openaiError(500), openaiError(404), openaiError(429), {
      steps: [`{"id":"${id}","status":"failed"}`],
    });
    await poll(async () => (await statusOf(requestId)) === 'Refunded');
  });
});

describe('a client that disconnects before it gets the id of its video', () => {
  it('is billed, and refunded when the video fails', async () => {
    const before = (await spending(stack)).spent;
    const holding = gate();
    stack.openai.script({ beforeHead: [holding], steps: ['{"id":"video_orphan","status":"queued"}'] });
    const leaving = new AbortController();
    const call = fetch(`${stack.gateway.url}/v1/videos`, {
      method: 'POST',
      signal: leaving.signal,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${KEYS.main}` },
      body: JSON.stringify({ model: 'film-model', prompt: 'x' }),
    });
    await holding.reached;
    leaving.abort();
    await assert.rejects(call);
    holding.open();
    stack.openai.script({ steps: ['{"id":"video_orphan","status":"queued"}'] });
    await poll(async () => (await stack.gateway.ledger.readJob('team/main', 'video_orphan')) !== undefined);
    assert.equal((await spending(stack)).spent, before + PRICE);
    stack.openai.script({ steps: ['{"id":"video_orphan","status":"failed"}'] });
    await poll(async () => (await spending(stack)).spent === before);
  });
});

describe('an edit of the route', () => {
  const urls = (): { openaiUrl: string; anthropicUrl: string } => ({
    openaiUrl: stack.openai.url,
    anthropicUrl: stack.anthropic.url,
  });

  it('that keeps the channel keeps its videos', async () => {
    const { id } = await make();
    await stack.gateway.write('films.yaml', route(urls(), 'direct', 5));
    assert.equal((await get(stack, `/v1/videos/${id}`)).status, 200);
  });
  it('that removes the channel is reported, and its return restores the videos', async () => {
    const { id } = await make();
    await stack.gateway.write('films.yaml', route(urls(), 'renamed'));
    const answer = await get(stack, `/v1/videos/${id}`);
    assert.deepEqual([answer.status, answer.json().error.code], [502, 'upstream_error']);
    assert.match(answer.json().error.message, /no longer configured/);
    await stack.gateway.write('films.yaml', route(urls()));
    assert.equal((await get(stack, `/v1/videos/${id}`)).status, 200);
  });
});

describe('a video whose provider cannot be reached', () => {
  it("is an error, of which the route's owner is told", async () => {
    const { id } = await make();
    const urls = { openaiUrl: stack.openai.url, anthropicUrl: stack.anthropic.url };
    await stack.gateway.write('films.yaml', route({ ...urls, openaiUrl: 'http://127.0.0.1:9' }));
    const answer = await get(stack, `/v1/videos/${id}`);
    await stack.gateway.write('films.yaml', route(urls));
    assert.deepEqual([answer.status, answer.json().error.code], [502, 'upstream_error']);
    const warning = stack.gateway.logs.map((line) => JSON.parse(line)).find(({ connectError }) => connectError);
    assert.deepEqual([warning?.route, warning?.channel, warning?.connectError], ['films', 'direct', 'ECONNREFUSED']);
  });
});

describe('a request that is not served', () => {
  for (const [method, path, words] of [
    ['GET', '/v1/videos', /Keep the id/],
    ['POST', '/v1/videos/video_1/remix', /Make a new one/],
    ['POST', '/v1/videos/edits', /Make a new one/],
    ['POST', '/v1/videos/extensions', /Make a new one/],
    ['POST', '/v1/videos/characters', /Describe them/],
    ['GET', '/v1/videos/characters/c', /Describe them/],
  ] as const) {
    it(`gets an error with the alternative: ${method} ${path}`, async () => {
      const response = await fetch(stack.gateway.url + path, {
        method,
        headers: { authorization: `Bearer ${KEYS.main}` },
      });
      const { error } = (await response.json()) as { error: { code: string; message: string } };
      assert.deepEqual([response.status, error.code], [404, 'not_found']);
      assert.match(error.message, words);
    });
  }
  it('differs from a wrong method', async () => {
    const response = await fetch(`${stack.gateway.url}/v1/videos/video_1`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${KEYS.main}` },
    });
    assert.deepEqual([response.status, response.headers.get('allow')], [405, 'GET, HEAD, DELETE']);
  });
});
