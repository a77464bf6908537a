/** Requests that cost nothing: their part of the limits, their errors, and whom a failure is told. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { GatewayError } from '../../../../dataplane/errors.ts';
import type { CountLimit, Ledger, TakeResult } from '../../../../dataplane/ledger/ledger.ts';
import { planRequest } from '../../../../dataplane/pipeline/channel-call.ts';
import type { RouteWarning } from '../../../../dataplane/pipeline/context.ts';
import { ClientDisconnected } from '../../../../dataplane/pipeline/failures.ts';
import { readWholeBody, sendFree, withLimits } from '../../../../dataplane/pipeline/free-request.ts';
import { UpstreamFailure } from '../../../../dataplane/upstream/upstream.ts';
import type { UpstreamResponse } from '../../../../dataplane/upstream/upstream.ts';
import { targetAt } from '../upstream/provider.ts';

const CLOCK = { nowMs: () => 0, monotonicMs: () => 0 };
const KEY: CountLimit = { scope: 'Key', id: 'key', measure: 'Concurrency', amount: 1 };
const CHANNEL: CountLimit = { scope: 'Channel', id: 'channel', measure: 'Requests', amount: 1 };

describe('the limits of a request that costs nothing', () => {
  async function run(limits: readonly CountLimit[], result: TakeResult): Promise<readonly string[]> {
    const steps: string[] = [];
    const ledger: Pick<Ledger, 'take' | 'release'> = {
      take: (callId) => {
        steps.push(`take ${callId}`);
        return result;
      },
      release: (callId, { requests }) => void steps.push(`release ${callId} ${requests}`),
    };
    // of a ledger nothing else is asked
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const deps = { ledger: ledger as Ledger, clock: CLOCK };
    const work = (): Promise<void> => Promise.resolve(void steps.push('work'));
    await withLimits(deps, { callId: 'c', dialect: 'OpenAI' }, limits, work).catch((error: unknown) => {
      assert.ok(error instanceof GatewayError && error.code === 'rate_limit_exceeded');
      steps.push(`${error.details.retryAfterSeconds} s: ${error.message}`);
    });
    return steps;
  }

  it('are taken before it and released after it, as one request', async () => {
    assert.deepEqual(await run([KEY], { outcome: 'Taken', states: [] }), ['take c', 'work', 'release c 1']);
  });
  it('need no ledger where there are none', async () => {
    assert.deepEqual(await run([], { outcome: 'Taken', states: [] }), ['work']);
  });
  it('say whose limit is full, and when to try again', async () => {
    const slots = { ...CHANNEL, measure: 'Concurrency' } as const;
    for (const [full, text] of [
      [{ full: KEY }, /1 s: This API key has its full number of calls/],
      [{ full: slots }, /1 s: Its channel has its full number of calls/],
      [{ full: CHANNEL, retryMs: 30_500 }, /31 s: Its channel has as many requests/],
      [{ full: CHANNEL, retryMs: 0 }, /1 s: Its channel has as many requests.*in 1 s/],
    ] as const) {
      const steps = await run([KEY, CHANNEL], { outcome: 'Full', ...full });
      assert.match(steps.join(), text);
      assert.ok(!steps.includes('work'));
    }
  });
});

describe('a request about something stored', () => {
  type Reply = Pick<UpstreamResponse, 'status'> | UpstreamFailure;

  async function send(reply: Reply): Promise<{ readonly error: unknown; readonly told: readonly RouteWarning[] }> {
    const told: RouteWarning[] = [];
    const body = (async function* (): AsyncGenerator<Uint8Array> {})();
    const deps = {
      clock: CLOCK,
      warn: (warning: RouteWarning) => told.push(warning),
      upstreams: {
        send: () =>
          reply instanceof UpstreamFailure
            ? Promise.reject(reply)
            : Promise.resolve({ status: reply.status, headers: {}, body }),
        connect: () => Promise.reject(new Error('no socket is opened')),
        close: () => Promise.resolve(),
      },
    };
    const target = targetAt('http://provider.invalid');
    const plan = planRequest(deps, { target }, { headers: {}, account: 'a/a', stream: false });
    const { signal } = new AbortController();
    const request = { method: 'GET', path: '/videos/v', body: undefined, signal } as const;
    try {
      await sendFree(deps, plan, { ...request, attempts: [], about: 'video', model: 'm' });
      return { error: undefined, told };
    } catch (error) {
      return { error, told };
    }
  }

  it('may have no body in response', async () => {
    for (const status of [200, 204]) assert.equal((await send({ status })).error, undefined);
  });
  it('is gone where its provider says so, which is nothing to correct', async () => {
    for (const status of [404, 410]) {
      const { error, told } = await send({ status });
      assert.ok(error instanceof GatewayError);
      assert.deepEqual([error.code, told], ['not_found', []]);
    }
  });
  it('warns of a refused credential and of an unreachable provider', async () => {
    const refused = await send({ status: 401 });
    assert.deepEqual(refused.told, [{ route: 'route', channel: 'channel', status: 401 }]);
    const away = await send(new UpstreamFailure('Connect', 'no'));
    assert.deepEqual(away.told, [{ route: 'route', channel: 'channel', status: 0, connectError: 'TIMEOUT' }]);
    for (const { error } of [refused, away])
      assert.equal(error instanceof GatewayError && error.code, 'upstream_error');
  });
  it('ends without an error of the provider when its client leaves, before and within the response', async () => {
    assert.ok((await send(new UpstreamFailure('Aborted', 'left'))).error instanceof ClientDisconnected);
    const broken = (kind: 'Aborted' | 'Cut'): UpstreamResponse => ({
      status: 200,
      headers: {},
      body: (async function* (): AsyncGenerator<Uint8Array> {
        yield Buffer.from('{');
        throw new UpstreamFailure(kind, 'no more');
      })(),
    });
    await assert.rejects(readWholeBody(broken('Aborted'), { about: 'video' }), ClientDisconnected);
    await assert.rejects(readWholeBody(broken('Cut'), { about: 'video' }), /broke off within its answer/);
  });
});
