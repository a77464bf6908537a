/** The list-watch loop with a controlled clock and server: continuation, new lists, and backoff. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { ResponseTooLarge } from '#kube/client.ts';
import type { WatchEvent } from '#kube/client.ts';
import { KubeError, KubeUnreachable } from '#kube/errors.ts';
import { jsonLines } from '#kube/client.ts';
import { startListWatch } from '#kube/list-watch.ts';
import { NO_LOG, NO_METER, fakeClock } from '../operator/fake-clock.ts';

const object = (name: string, resourceVersion: string) => ({ metadata: { name, resourceVersion } });
const event = (type: string, name: string, version: string): WatchEvent => ({ type, object: object(name, version) });

/** A server whose watches end on request. */
function setUp(answers: readonly (() => unknown)[] = [], idleTimeoutMs = 90_000) {
  const clock = fakeClock();
  const requests: string[] = [];
  const known: string[] = [];
  const watches: {
    readonly path: string;
    readonly push: (event: WatchEvent) => void;
    readonly end: (error?: Error) => void;
  }[] = [];
  const queue = [...answers];
  const watch = startListWatch({
    clock,
    meter: NO_METER,
    log: NO_LOG,
    idleTimeoutMs,
    pageSize: 2,
    collection: { resource: 'things', path: '/things', labelSelector: 'a' },
    client: {
      request: async ({ path }) => {
        requests.push(path);
        const answer = queue.shift();
        return answer ? answer() : { metadata: { resourceVersion: '10' }, items: [object('one', '5')] };
      },
      async *watch(path, signal) {
        const events: (WatchEvent | Error | 'end')[] = [];
        let wake = (): void => undefined;
        const push = (each: WatchEvent | Error | 'end'): void => {
          events.push(each);
          wake();
        };
        signal.addEventListener('abort', () => push(new KubeUnreachable('aborted')));
        watches.push({ path, push, end: (error) => push(error ?? 'end') });
        for (;;) {
          const next = events.shift();
          if (next === 'end') return;
          if (next instanceof Error) throw next;
          if (next) yield next;
          else
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
        }
      },
    },
    onReplace: (objects) => known.push(`= ${objects.map(({ metadata }) => metadata.name).join(' ')}`),
    onApplied: ({ metadata }) => known.push(`+ ${metadata.name}`),
    onDeleted: ({ metadata }) => known.push(`- ${metadata.name}`),
  });
  const version = (): string | null => new URL(`http://x${watches.at(-1)?.path}`).searchParams.get('resourceVersion');
  return { clock, requests, known, watches, watch, version };
}

describe('a list-watch', () => {
  it('lists the current state in pages, and watches from there', async () => {
    const { clock, requests, known, watches, watch, version } = setUp([
      () => ({ metadata: { resourceVersion: '7', continue: 'more' }, items: [object('a', '1'), object('b', '2')] }),
      () => ({ metadata: { resourceVersion: '7' }, items: [object('c', '3')] }),
    ]);
    await clock.pass(0);
    assert.deepEqual(requests, ['/things?limit=2&labelSelector=a', '/things?limit=2&continue=more&labelSelector=a']);
    assert.deepEqual([known, watch.synced, version()], [['= a b c'], true, '7']);
    watches[0]?.push(event('ADDED', 'd', '8'));
    watches[0]?.push(event('DELETED', 'a', '9'));
    watches[0]?.push(event('BOOKMARK', '', '12'));
    await clock.pass(0);
    assert.deepEqual(known.slice(1), ['+ d', '- a']);
    await watch.stop();
  });

  it('continues from the last bookmark when the server ends a watch', async () => {
    const { clock, requests, watches, watch, version } = setUp();
    await clock.pass(5000);
    watches[0]?.push(event('BOOKMARK', '', '42'));
    await clock.pass(0);
    watches[0]?.end();
    await clock.pass(1000);
    assert.deepEqual([requests.length, watches.length, version()], [1, 2, '42']);
    await watch.stop();
  });

  it('continues at once when the server cuts off a watch that is too slow for its events', async () => {
    const { clock, watches, watch, version } = setUp();
    await clock.pass(0);
    for (let n = 0; n < 20; n++) {
      watches[n]?.push(event('ADDED', 'd', String(100 + n)));
      watches[n]?.end();
      await clock.pass(0);
      assert.deepEqual([watches.length, version()], [n + 2, String(100 + n)]);
    }
    await watch.stop();
  });

  it('waits before it watches again if a watch ends at once and brought nothing', async () => {
    const { clock, watches, watch } = setUp();
    await clock.pass(0);
    watches[0]?.end();
    await clock.pass(0);
    assert.equal(watches.length, 1);
    await clock.pass(1000);
    assert.equal(watches.length, 2);
    await watch.stop();
  });

  it('lists again when the version has expired, by status or by event', async () => {
    const { clock, known, watches, watch } = setUp();
    await clock.pass(0);
    watches[0]?.end(new KubeError('gone', { status: 410 }));
    await clock.pass(1000);
    assert.deepEqual([known, watches.length], [['= one', '= one'], 2]);
    watches[1]?.push({ type: 'ERROR', object: { code: 410, message: 'too old' } });
    await clock.pass(1000);
    assert.deepEqual([known.length, watches.length], [3, 3]);
    await watch.stop();
  });

  it('begins the list again if its continue token expires', async () => {
    const { clock, requests, known, watch } = setUp([
      () => ({ metadata: { resourceVersion: '7', continue: 'more' }, items: [object('a', '1')] }),
      () => {
        throw new KubeError('expired', { status: 410 });
      },
      () => ({ metadata: { resourceVersion: '9' }, items: [object('a', '1'), object('b', '2')] }),
    ]);
    await clock.pass(1000);
    assert.deepEqual([requests.at(-1), known], ['/things?limit=2&labelSelector=a', ['= a b']]);
    await watch.stop();
  });

  it('reads pages of a bounded length, whatever the objects are', async () => {
    const clock = fakeClock();
    const sizes = [...Array.from({ length: 900 }, () => 500), ...Array.from({ length: 40 }, () => 1_500_000)];
    const limits: number[] = [];
    let longest = 0;
    let most = 0;
    const names: string[] = [];
    const done = Promise.withResolvers<number>();
    const watch = startListWatch({
      clock,
      meter: NO_METER,
      log: NO_LOG,
      collection: { resource: 'things', path: '/things' },
      client: {
        async request({ path, maxBytes = Infinity, onRead }) {
          const query = new URL(`http://x${path}`).searchParams;
          const [from, limit] = [Number(query.get('continue') ?? 0), Number(query.get('limit'))];
          limits.push(limit);
          const page = sizes.slice(from, from + limit);
          const bytes = page.reduce((sum, size) => sum + size, 0);
          longest = Math.max(longest, Math.min(bytes, maxBytes));
          if (bytes > maxBytes) throw new ResponseTooLarge('too long');
          onRead?.(bytes);
          const next = from + limit < sizes.length ? { continue: String(from + limit) } : {};
          return { metadata: { resourceVersion: '7', ...next }, items: page.map((_, n) => object(`${from + n}`, '1')) };
        },
        // oxlint-disable-next-line require-yield -- nothing happens after the list
        async *watch(_, signal) {
          await new Promise((resolve) => {
            signal.addEventListener('abort', resolve);
          });
        },
      },
      onPage(objects) {
        most = Math.max(most, objects.length);
        names.push(...objects.map(({ metadata }) => metadata.name));
      },
      onReplace: (objects) => done.resolve(objects.length),
      onApplied: () => undefined,
      onDeleted: () => undefined,
    });
    await clock.pass(1000);
    assert.equal(await done.promise, sizes.length);
    assert.deepEqual(
      names,
      sizes.map((_, n) => String(n)),
    );
    assert.ok(longest <= 8 * 1024 * 1024, String(longest));
    assert.ok(most > 200, 'small objects come by the hundred');
    assert.ok(limits.includes(1), limits.join(' '));
    await watch.stop();
  });

  it('treats silence as a broken connection, and bookmarks as a sign of life', async () => {
    const { clock, watches, watch, version } = setUp([], 1000);
    await clock.pass(900);
    watches[0]?.push(event('BOOKMARK', '', '11'));
    await clock.pass(900);
    assert.equal(watches.length, 1);
    await clock.pass(2000);
    assert.deepEqual([watches.length >= 2, version()], [true, '11']);
    await watch.stop();
  });

  it('backs off from a failing server, keeps its state, and reports the error', async () => {
    const { clock, requests, watches, known, watch } = setUp();
    await clock.pass(0);
    const fail = async (): Promise<void> => {
      watches.at(-1)?.end(new KubeUnreachable('connect ECONNREFUSED'));
      await clock.pass(0);
    };
    await fail();
    assert.match(watch.problem ?? '', /does not respond.*ECONNREFUSED/);
    const waits: number[] = [];
    for (let i = 0; i < 9; i++) {
      let waited = 0;
      for (const count = watches.length; watches.length === count; waited += 50) await clock.pass(50);
      waits.push(waited);
      await fail();
    }
    assert.deepEqual(
      waits,
      [...waits].sort((a, b) => a - b),
    );
    assert.ok((waits[0] ?? 0) <= 200 && (waits.at(-1) ?? 0) >= 20_000 && (waits.at(-1) ?? 0) <= 30_000, waits.join());
    assert.deepEqual([requests.length, known], [1, ['= one']]);
    await clock.pass(60_000);
    watches.at(-1)?.push(event('BOOKMARK', '', '50'));
    await clock.pass(0);
    assert.equal(watch.problem, undefined);
    await watch.stop();
  });

  it('respects Retry-After', async () => {
    const { clock, requests, watch } = setUp([
      () => {
        throw new KubeError('too many requests', { status: 429, retryAfterMs: 7000 });
      },
    ]);
    await clock.pass(6900);
    assert.equal(requests.length, 1);
    await clock.pass(200);
    assert.equal(requests.length, 2);
    await watch.stop();
  });
});

describe('lines of JSON', () => {
  const read = async (...chunks: (string | Uint8Array)[]): Promise<unknown[]> => {
    const bytes = chunks.map((chunk) => (typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk));
    return Array.fromAsync(
      jsonLines(
        (async function* () {
          yield* bytes;
        })(),
      ),
    );
  };
  it('may be split anywhere, also within a character', async () => {
    const bytes = new TextEncoder().encode('{"a":"ä"}\n{"b":2}\n');
    for (let at = 0; at <= bytes.length; at++)
      assert.deepEqual(await read(bytes.subarray(0, at), bytes.subarray(at)), [{ a: 'ä' }, { b: 2 }]);
  });
  it('must be complete', async () => {
    await assert.rejects(read('{"a":1}\n{"b"'), /within a line/);
  });
});
