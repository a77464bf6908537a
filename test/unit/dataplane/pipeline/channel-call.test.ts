/** A request to a channel: how it is planned and sent, what came of it, and what the attempt's report says. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { planRequest, sendToChannel, warnOfFailure } from '../../../../dataplane/pipeline/channel-call.ts';
import type { ChannelRequest } from '../../../../dataplane/pipeline/channel-call.ts';
import type { RouteWarning } from '../../../../dataplane/pipeline/context.ts';
import type { AttemptFailure } from '../../../../dataplane/pipeline/failures.ts';
import type { AttemptReport } from '../../../../dataplane/telemetry/call-report.ts';
import { UpstreamFailure } from '../../../../dataplane/upstream/upstream.ts';
import type {
  UpstreamFailureKind,
  UpstreamRequest,
  UpstreamResponse,
  Upstreams,
  UpstreamTarget,
} from '../../../../dataplane/upstream/upstream.ts';
import { targetAt } from '../upstream/provider.ts';

type Reply = Pick<UpstreamResponse, 'status'> & {
  readonly headers?: Readonly<Record<string, string>>;
  readonly pieces?: readonly (string | UpstreamFailure)[];
};

const TARGET = { ...targetAt('http://provider.invalid'), id: 'route/channel' };
const OK: Reply = { status: 200, pieces: ['{}'] };

/** One channel, and what was done about it, in order. */
class Scene {
  readonly attempts: AttemptReport[] = [];
  readonly sent: UpstreamRequest[] = [];
  readonly record = { sent: false, timedOut: false };
  /** Whether the call was taken as sent when each piece of the response was read. */
  readonly sentAtPieces: boolean[] = [];
  ended = false;
  #nowMs = 0;
  readonly #reply: Reply | UpstreamFailure;
  readonly #target: UpstreamTarget;

  constructor(reply: Reply | UpstreamFailure, target: UpstreamTarget = TARGET) {
    this.#reply = reply;
    this.#target = target;
  }

  async call(
    request: Partial<ChannelRequest> = {},
    { stream = false, namesModel = true, headers = {} } = {},
  ): Promise<UpstreamResponse | AttemptFailure> {
    const clock = { nowMs: () => 0, monotonicMs: () => this.#nowMs++ };
    const deps = { clock, upstreams: this.#upstreams() };
    const channel = { target: this.#target, ...(namesModel && { upstreamModel: 'm' }) };
    const plan = planRequest(deps, channel, { headers, account: 'a/a', stream });
    return sendToChannel(deps, plan, {
      method: 'POST',
      path: '/chat/completions',
      body: Buffer.from('{}'),
      signal: new AbortController().signal,
      attempts: this.attempts,
      needsContent: true,
      record: this.record,
      ...request,
    });
  }

  #upstreams(): Upstreams {
    const reply = this.#reply;
    return {
      send: (_target, request) => {
        this.sent.push(request);
        if (reply instanceof UpstreamFailure) return Promise.reject(reply);
        const { status, headers = {}, pieces = [] } = reply;
        return Promise.resolve({ status, headers, body: this.#body(pieces) });
      },
      connect: () => Promise.reject(new Error('no socket is opened')),
      close: () => Promise.resolve(),
    };
  }

  async *#body(pieces: readonly (string | UpstreamFailure)[]): AsyncGenerator<Uint8Array> {
    try {
      for (const piece of pieces) {
        this.sentAtPieces.push(this.record.sent);
        if (piece instanceof UpstreamFailure) throw piece;
        yield Buffer.from(piece);
      }
    } finally {
      this.ended = true;
    }
  }
}

function failureOf(result: UpstreamResponse | AttemptFailure): AttemptFailure {
  assert.ok('kind' in result, 'a response came');
  return result;
}

describe('a request to a channel', () => {
  it('is a response whose attempt is reported as ok, with the time since its plan', async () => {
    const scene = new Scene(OK);
    assert.ok(!('kind' in (await scene.call())));
    assert.deepEqual(scene.attempts, [{ channel: 'route/channel', protocol: 'OpenAI', outcome: 'ok', durationMs: 1 }]);
    assert.equal(scene.record.sent, true);
  });
  it('has the content type of its body, and none without a body', async () => {
    const scene = new Scene(OK);
    await scene.call({ contentType: 'multipart/form-data; boundary=x' });
    await scene.call();
    await scene.call({ body: undefined }, { headers: { 'content-type': 'text/plain' } });
    const types = scene.sent.map(({ headers }) => headers['content-type']);
    assert.deepEqual(types, ['multipart/form-data; boundary=x', 'application/json', undefined]);
  });
  it("has its platform's path, unless it names no model", async () => {
    const scene = new Scene(OK, { ...TARGET, platform: 'AzureDeployments', apiVersion: '2024-10-21' });
    await scene.call();
    await scene.call({}, { namesModel: false });
    assert.deepEqual(
      scene.sent.map(({ path }) => path),
      ['/openai/deployments/m/chat/completions?api-version=2024-10-21', '/chat/completions'],
    );
  });
  for (const status of [204, 205])
    it(`is refused by a ${status} only where it needs content`, async () => {
      const scene = new Scene({ status });
      assert.equal(failureOf(await scene.call()).kind, 'Refused');
      assert.ok(!('kind' in (await scene.call({ needsContent: false }))));
      assert.deepEqual(
        scene.attempts.map(({ outcome }) => outcome),
        [`status_${status}`, 'ok'],
      );
    });
  it('costs nothing from the moment that its refusal begins, and the refusal is read to its end', async () => {
    const pieces = ['{"error":{"message":"no', ' way"}}'];
    const scene = new Scene({ status: 500, pieces });
    const failure = failureOf(await scene.call());
    assert.deepEqual([failure.kind === 'Refused' && failure.error.message, scene.ended], ['no way', true]);
    assert.deepEqual(scene.sentAtPieces, [false, false]);
  });
  it('is refused by the status alone if the refusal breaks off or is endless', async () => {
    const broken = new Scene({ status: 503, pieces: ['{', new UpstreamFailure('Cut', 'cut')] });
    assert.equal(failureOf(await broken.call()).kind, 'Refused');
    const endless = new Scene({ status: 503, pieces: Array.from({ length: 100 }, () => 'x'.repeat(4096)) });
    assert.equal(failureOf(await endless.call()).kind, 'Refused');
    assert.deepEqual([endless.ended, endless.sentAtPieces.length < 20], [true, true]);
  });
  it("is refused in Bedrock's words where Bedrock serves another protocol", async () => {
    const target = { ...TARGET, protocol: 'Anthropic', platform: 'BedrockInvoke' } as const;
    const scene = new Scene({ status: 403, pieces: ['{"Message":"not signed"}'] }, target);
    const failure = failureOf(await scene.call({ path: '/v1/messages' }));
    assert.equal(failure.kind === 'Refused' && failure.error.message, 'not signed');
  });
  it('names the families of the flags that were left out', async () => {
    const scene = new Scene(OK);
    await scene.call({ dropped: ['tools', 'anthropic-beta=context-1m-2025-08-07'] });
    assert.deepEqual(scene.attempts[0]?.droppedBetas, ['context-1m']);
  });
  it('waits for the first chunk of a stream, whose failure is that of the attempt', async () => {
    const scene = new Scene({ status: 200, pieces: [new UpstreamFailure('Timeout', 'silent')] });
    assert.deepEqual(failureOf(await scene.call({}, { stream: true })), { kind: 'Broken', failure: 'Timeout' });
    assert.deepEqual([scene.attempts[0]?.outcome, scene.record], ['timeout', { sent: false, timedOut: true }]);
    const stored = new Scene({ status: 200, pieces: [new UpstreamFailure('Timeout', 'silent')] });
    assert.ok(!('kind' in (await stored.call({ needsContent: false }, { stream: true }))));
  });
  it('throws what is no failure of the provider, and reports no attempt', async () => {
    const scene = new Scene({
      get status(): number {
        throw new TypeError('a defect');
      },
    });
    await assert.rejects(scene.call(), TypeError);
    assert.deepEqual(scene.attempts, []);
  });
});

describe('a request that broke off', () => {
  const rows: [UpstreamFailureKind, UpstreamFailure, Scene['record']][] = [
    ['Connect', new UpstreamFailure('Connect', 'refused'), { sent: false, timedOut: false }],
    ['Reset', new UpstreamFailure('Reset', 'reset'), { sent: false, timedOut: false }],
    ['Timeout', new UpstreamFailure('Timeout', 'silent'), { sent: false, timedOut: true }],
    // the provider may go on with it, and charge for it
    ['Aborted', new UpstreamFailure('Aborted', 'left'), { sent: true, timedOut: false }],
    ['Aborted', new UpstreamFailure('Aborted', 'left', undefined, false), { sent: false, timedOut: false }],
  ];
  for (const [kind, failure, record] of rows)
    it(`by ${kind} ${failure.sent ? 'after' : 'before'} it was sent is billed as such`, async () => {
      const scene = new Scene(failure);
      assert.equal(failureOf(await scene.call()).kind, 'Broken');
      assert.deepEqual([scene.record, scene.attempts[0]?.outcome], [record, kind.toLowerCase()]);
    });
});

describe('the warning of a failure', () => {
  const warnings = (failure: AttemptFailure): readonly RouteWarning[] => {
    const told: RouteWarning[] = [];
    warnOfFailure({ warn: (warning) => told.push(warning) }, TARGET, failure);
    return told;
  };
  const refused = (status: number): AttemptFailure => ({
    kind: 'Refused',
    status,
    headers: {},
    error: { message: '', type: undefined, code: undefined },
  });
  it('names the channel whose credential or address is refused, or that cannot be reached', () => {
    const names = { route: 'route', channel: 'channel' };
    assert.deepEqual(warnings(refused(401)), [{ ...names, status: 401 }]);
    assert.deepEqual(warnings(refused(404)), [{ ...names, status: 404 }]);
    const unreachable = { kind: 'Broken', failure: 'Connect', connectError: 'ENOTFOUND' } as const;
    assert.deepEqual(warnings(unreachable), [{ ...names, status: 0, connectError: 'ENOTFOUND' }]);
  });
  it('is none for what passes, or is about the request', () => {
    for (const failure of [refused(400), refused(429), refused(500), { kind: 'Broken', failure: 'Reset' } as const])
      assert.deepEqual(warnings(failure), []);
  });
});
