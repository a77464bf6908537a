/**
 * A reflector for one collection of the API server: lists in pages, then watches from there. A watch that ends resumes
 * from the last event or bookmark; only an expired version (410) leads to another list. A silent watch counts as dead,
 * because bookmarks come every minute, and failures are retried with backoff. Known objects stay while the server
 * cannot be reached. The number of objects in a page follows their size, so that large ones cannot exhaust the memory.
 */
import type { Logger } from 'pino';
import type { KubeMeter } from './meter.ts';
import { createBackoff } from '#runtime/backoff.ts';
import type { Backoff } from '#runtime/backoff.ts';
import { ResponseTooLarge } from './client.ts';
import type { KubeClient, WatchEvent } from './client.ts';
import { KubeError, explainKubeError, hasStatus } from './errors.ts';
import type { KubeObject } from './models.ts';
import type { OperatorClock } from '#runtime/clock.ts';
import { sleep } from '#runtime/clock.ts';

/** The path of a collection, and which of its objects to read. */
export interface Collection {
  /** The name for people and metrics: "apikeys". */
  readonly resource: string;
  /** For example /apis/modelgateway.dev/v1alpha1/apikeys. */
  readonly path: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

export interface ListWatchOptions {
  readonly collection: Collection;
  readonly client: Pick<KubeClient, 'request' | 'watch'>;
  /** What is awaited before the first list. */
  readonly begin?: Promise<void>;
  /**
   * Receives each page of a list as soon as it is read. With it, onReplace gets the listed objects' names and versions
   * only, so that no list of whole objects is ever held.
   */
  readonly onPage?: (objects: readonly KubeObject[]) => void;
  /** Receives a complete list; objects that are missing from it were deleted. */
  readonly onReplace: (objects: readonly KubeObject[]) => void;
  readonly onApplied: (object: KubeObject) => void;
  readonly onDeleted: (object: KubeObject) => void;
  /** Called with a sentence when the collection cannot be read, and with undefined when it can be read again. */
  readonly onProblem?: (problem: string | undefined) => void;
  readonly clock: OperatorClock;
  readonly meter: KubeMeter;
  readonly log: Pick<Logger, 'info' | 'warn'>;
  /** A watch without events or bookmarks for this long counts as dead. */
  readonly idleTimeoutMs?: number;
  /** The most objects in a page. */
  readonly pageSize?: number;
}

export interface ListWatch {
  readonly collection: Collection;
  /** True once there has been a complete list. */
  readonly synced: boolean;
  /** A sentence about what fails at the moment. */
  readonly problem: string | undefined;
  stop(): Promise<void>;
}

const IDLE_TIMEOUT_MS = 90_000;
const PAGE_SIZE = 1000;
/** The size of the first page, before anything is known of the objects' sizes. */
const FIRST_PAGE_SIZE = 50;
/** The size at which pages aim. */
const PAGE_BYTES = 2 * 1024 * 1024;
/** A longer page is not read, but asked for again with fewer objects. One object is at most 3 MiB long. */
const MAX_PAGE_BYTES = 4 * PAGE_BYTES;
const LIST_TIMEOUT_MS = 60_000;
/** Each watch asks to last for a random time between this and twice this, so that the watches do not all end together. */
const WATCH_SECONDS = 300;
const FIRST_WAIT_MS = 200;
const LONGEST_WAIT_MS = 30_000;
/** A watch that ends within this time and has delivered nothing counts as failed, so that the next one is delayed. */
const SHORT_WATCH_MS = 1_000;

type WatchEnd = 'closed' | 'gone' | 'idle' | 'failed';

/** Starts listing at once. */
export function startListWatch(options: ListWatchOptions): ListWatch {
  const loop = new ListWatchLoop(options);
  const ended = loop.run();
  return {
    collection: options.collection,
    get synced() {
      return loop.synced;
    },
    get problem() {
      return loop.problem;
    },
    async stop() {
      loop.stop();
      await ended;
    },
  };
}

class ListWatchLoop {
  synced = false;
  problem: string | undefined;
  readonly #options: ListWatchOptions;
  readonly #stopped = new AbortController();
  readonly #backoff: Backoff;
  /** The resourceVersion to resume from; undefined: a list is needed. */
  #version: string | undefined;
  /** The number of objects in the next page. */
  #pageSize: number;

  constructor(options: ListWatchOptions) {
    this.#options = options;
    this.#pageSize = Math.min(FIRST_PAGE_SIZE, options.pageSize ?? PAGE_SIZE);
    this.#backoff = createBackoff({
      firstMs: FIRST_WAIT_MS,
      longestMs: LONGEST_WAIT_MS,
      random: () => options.clock.random(),
    });
  }

  stop(): void {
    this.#stopped.abort();
  }

  async run(): Promise<void> {
    const { begin } = this.#options;
    if (begin) await Promise.race([begin, aborted(this.#stopped.signal)]);
    while (!this.#stopped.signal.aborted) {
      try {
        if (this.#version === undefined) await this.#list();
        await this.#watch();
      } catch (error) {
        await this.#failed(error);
      }
    }
  }

  async #list(): Promise<void> {
    const { onReplace, meter, collection } = this.#options;
    try {
      const { objects, version } = await this.#readPages();
      this.#version = version;
      this.synced = true;
      onReplace(objects);
      this.#works();
      meter.add('modelgateway_operator_lists_total', { resource: collection.resource, outcome: 'ok' }, 1);
    } catch (error) {
      meter.add('modelgateway_operator_lists_total', { resource: collection.resource, outcome: 'failed' }, 1);
      throw error;
    }
  }

  /**
   * Lists without a resourceVersion, so that the result is consistent and not from a watch cache: a revoked key must
   * not come back.
   */
  async #readPages(): Promise<{ readonly objects: readonly KubeObject[]; readonly version: string }> {
    const { onPage } = this.#options;
    const objects: KubeObject[] = [];
    let page: Page | undefined;
    do {
      page = await this.#readPage(page?.metadata.continue);
      this.#stopped.signal.throwIfAborted();
      onPage?.(page.items);
      for (const object of page.items) objects.push(onPage ? nameOnly(object) : object);
    } while (page.metadata.continue);
    return { objects, version: page.metadata.resourceVersion ?? '' };
  }

  /** Reads a page, with fewer objects if it is too long, and determines the size of the next one. */
  async #readPage(token: string | undefined): Promise<Page> {
    const { client, pageSize = PAGE_SIZE } = this.#options;
    for (;;) {
      const limit = this.#pageSize;
      const path = this.#path({ limit: String(limit), ...(token && { continue: token }) });
      try {
        let bytes = 0;
        const page: Page = await client.request({
          method: 'GET',
          path,
          timeoutMs: LIST_TIMEOUT_MS,
          ...(limit > 1 && { maxBytes: MAX_PAGE_BYTES }),
          onRead: (length) => (bytes = length),
        });
        this.#pageSize = fittingPageSize(page.items.length, bytes, pageSize);
        return page;
      } catch (error) {
        if (!(error instanceof ResponseTooLarge)) throw error;
        this.#pageSize = Math.max(1, Math.floor(limit / 4));
      }
    }
  }

  async #watch(): Promise<void> {
    const { clock, meter, collection } = this.#options;
    const startedMs = clock.nowMs();
    const startVersion = this.#version;
    let end: WatchEnd = 'closed';
    try {
      await this.#follow();
      // the API server cuts off a watch that is too slow for its events; the next one continues from there
      const hasAdvanced = this.#version !== startVersion;
      if (!hasAdvanced && clock.nowMs() - startedMs < SHORT_WATCH_MS) throw new Error('the watch ended at once');
    } catch (error) {
      end = endOf(error);
      if (end === 'gone') this.#version = undefined;
      else throw error;
    } finally {
      if (!this.#stopped.signal.aborted)
        meter.add('modelgateway_operator_watch_restarts_total', { resource: collection.resource, reason: end }, 1);
    }
  }

  async #follow(): Promise<void> {
    const { client, clock, idleTimeoutMs = IDLE_TIMEOUT_MS } = this.#options;
    const seconds = Math.round(WATCH_SECONDS * (1 + clock.random()));
    const path = this.#path({
      watch: '1',
      allowWatchBookmarks: 'true',
      timeoutSeconds: String(seconds),
      resourceVersion: this.#version ?? '',
    });
    const idle = new AbortController();
    const awaitSign = (): (() => void) =>
      clock.after(idleTimeoutMs, () => idle.abort(new IdleWatch(`the watch was silent for ${idleTimeoutMs / 1000} s`)));
    let forget = awaitSign();
    try {
      for await (const event of client.watch(path, AbortSignal.any([this.#stopped.signal, idle.signal]))) {
        forget();
        forget = awaitSign();
        this.#take(event);
      }
    } catch (error) {
      throw idle.signal.aborted ? idle.signal.reason : error;
    } finally {
      forget();
    }
  }

  #take({ type, object }: WatchEvent): void {
    if (type === 'ERROR') throw errorOf(object);
    const { onApplied, onDeleted, meter, collection } = this.#options;
    const changed: KubeObject = object;
    if (type === 'DELETED') onDeleted(changed);
    else if (type !== 'BOOKMARK') onApplied(changed);
    if (type !== 'BOOKMARK')
      meter.add('modelgateway_operator_watch_events_total', { resource: collection.resource }, 1);
    this.#version = changed.metadata.resourceVersion ?? this.#version;
    this.#works();
  }

  #works(): void {
    this.#backoff.reset();
    if (this.problem === undefined) return;
    this.problem = undefined;
    this.#options.log.info({ resource: this.#options.collection.resource }, 'can be read again');
    this.#options.onProblem?.(undefined);
  }

  async #failed(error: unknown): Promise<void> {
    if (this.#stopped.signal.aborted) return;
    const {
      collection: { resource },
      log,
      clock,
    } = this.#options;
    const words = explainKubeError(error);
    if (words !== this.problem)
      log.warn(
        {
          resource,
          problem: words,
        },
        'cannot be read from the API server; retrying; the known objects stay in effect',
      );
    this.problem = words;
    this.#options.onProblem?.(words);
    const wish = error instanceof KubeError ? error.retryAfterMs : undefined;
    await sleep(clock, this.#backoff.next(wish), this.#stopped.signal);
  }

  #path(query: Readonly<Record<string, string>>): string {
    const { path, labelSelector, fieldSelector } = this.#options.collection;
    const all = new URLSearchParams({
      ...query,
      ...(labelSelector === undefined ? {} : { labelSelector }),
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
    });
    return `${path}?${all.toString()}`;
  }
}

interface Page {
  readonly metadata: { readonly continue?: string; readonly resourceVersion?: string };
  readonly items: readonly KubeObject[];
}

/** As many objects of the size just seen as make a page of PAGE_BYTES. */
function fittingPageSize(objects: number, bytes: number, most: number): number {
  if (objects === 0 || bytes === 0) return Math.min(FIRST_PAGE_SIZE, most);
  return Math.max(1, Math.min(most, Math.floor((PAGE_BYTES * objects) / bytes)));
}

function nameOnly({ metadata: { name, namespace, resourceVersion } }: KubeObject): KubeObject {
  return { metadata: { name, ...(namespace && { namespace }), ...(resourceVersion && { resourceVersion }) } };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

class IdleWatch extends Error {
  override readonly name = 'IdleWatch';
}

function endOf(error: unknown): WatchEnd {
  if (error instanceof IdleWatch) return 'idle';
  return hasStatus(error, 410) ? 'gone' : 'failed';
}

function errorOf({
  code = 500,
  message = 'an error',
  reason = '',
}: {
  readonly code?: number;
  readonly message?: string;
  readonly reason?: string;
}): KubeError {
  return new KubeError(`the watch: ${code} ${message}`, { status: code, reason });
}
