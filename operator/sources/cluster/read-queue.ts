/**
 * Reads single objects whose watch has reported them, but of which only the names were kept. A few are read at a time,
 * in turns between namespaces, and a failed read is repeated.
 */
import type { OperatorClock } from '#runtime/clock.ts';
import { FairQueue } from '../../store/fair-queue.ts';
import { createBackoff } from '#runtime/backoff.ts';
import type { KubeClient } from '#kube/client.ts';
import type { KubeObject } from '#kube/models.ts';

interface ReadRequest {
  /** The path of the namespace's objects of this kind. */
  readonly path: string;
  readonly namespace: string;
  readonly name: string;
  readonly onRead: (object: KubeObject) => void;
}

export interface ReadQueue {
  /** Queues an object; one that does not exist is forgotten. */
  read(request: ReadRequest): void;
  stop(): void;
}

interface ReadQueueOptions {
  readonly client: Pick<KubeClient, 'request'>;
  readonly clock: OperatorClock;
}

const AT_ONCE = 4;
const FIRST_WAIT_MS = 200;
const LONGEST_WAIT_MS = 30_000;

export function createReadQueue({ client, clock }: ReadQueueOptions): ReadQueue {
  const requests = new Map<string, ReadRequest>();
  const waiting = new FairQueue((id) => requests.get(id)?.namespace ?? '');
  const backoff = createBackoff({ firstMs: FIRST_WAIT_MS, longestMs: LONGEST_WAIT_MS, random: () => clock.random() });
  let reading = 0;
  let stopped = false;
  let cancel: (() => void) | undefined;

  /** Asks by a list, because the operator may list objects of its kinds, but not get them. */
  async function readOne({ path, name, onRead }: ReadRequest): Promise<void> {
    const query = new URLSearchParams({ fieldSelector: `metadata.name=${name}` });
    const { items }: { readonly items: readonly KubeObject[] } = await client.request({
      method: 'GET',
      path: `${path}?${query.toString()}`,
    });
    if (!stopped) items.forEach(onRead);
  }

  function pump(): void {
    for (const id of waiting) {
      if (stopped || cancel || reading >= AT_ONCE) return;
      const request = requests.get(id);
      waiting.delete(id);
      requests.delete(id);
      if (request) start(request);
    }
  }

  function start(request: ReadRequest): void {
    reading += 1;
    readOne(request)
      .then(
        () => backoff.reset(),
        // the API server's state is in the log of the watches
        () => retry(request),
      )
      .finally(() => {
        reading -= 1;
        pump();
      });
  }

  function retry(request: ReadRequest): void {
    if (stopped) return;
    enqueue(request);
    cancel ??= clock.after(backoff.next(), () => {
      cancel = undefined;
      pump();
    });
  }

  function enqueue(request: ReadRequest): void {
    const id = `${request.path} ${request.name}`;
    requests.set(id, request);
    waiting.add(id);
  }

  return {
    read(request) {
      enqueue(request);
      pump();
    },
    stop() {
      stopped = true;
      cancel?.();
    },
  };
}
