/**
 * Writes Events (events.k8s.io/v1), which `kubectl describe` shows below an object. They are hints, whereas the status
 * is authoritative: an Event that cannot be written is dropped, and a budget limits their rate, of which one namespace
 * gets a share.
 */
import { API_VERSION } from '#crds/types.gen.ts';
import type { ObjectRef } from '#objects/live-object.ts';
import type { KubeMeter } from './meter.ts';
import type { KubeClient } from './client.ts';
import type { OperatorClock } from '#runtime/clock.ts';
import { microTime } from './lease.ts';
import type { Event } from './models.ts';

export interface EventNote {
  readonly type: 'Normal' | 'Warning';
  /** One CamelCase word. */
  readonly reason: string;
  readonly note: string;
}

interface EventObject extends ObjectRef {
  /** Default: this API's. */
  readonly apiVersion?: string;
}

export interface EventRecorder {
  /** Returns at once and never fails. */
  record(object: EventObject, note: EventNote): void;
  /** Resolves when the pending Events have been written. */
  stop(): Promise<void>;
}

interface EventRecorderOptions {
  readonly client: Pick<KubeClient, 'request'>;
  readonly clock: OperatorClock;
  readonly meter: KubeMeter;
  /** The identity of this process. */
  readonly identity: string;
  /** Returns whether the rate limit allows another Event in this namespace now. */
  readonly allows: (namespace: string, nowMs: number) => boolean;
}

const CONTROLLER = 'modelgateway.dev/operator';
/** The API's limits. */
const MAX_NOTE_CHARACTERS = 1000;
const MAX_NAME_CHARACTERS = 180;
const MAX_IDENTITY_CHARACTERS = 128;

export function createEventRecorder({ client, clock, meter, identity, allows }: EventRecorderOptions): EventRecorder {
  const writing = new Set<Promise<void>>();

  async function write(object: EventObject, note: EventNote): Promise<void> {
    const { namespace } = object;
    try {
      await client.request({
        method: 'POST',
        path: `/apis/events.k8s.io/v1/namespaces/${namespace}/events`,
        body: eventOf(object, note),
      });
      count('ok');
    } catch {
      count('failed'); // the metric of requests shows the status
    }
  }

  function count(outcome: string): void {
    meter.add('modelgateway_operator_events_total', { outcome }, 1);
  }

  function eventOf(object: EventObject, { type, reason, note }: EventNote): Event {
    const { apiVersion = API_VERSION, kind, namespace, name, uid } = object;
    const nowMs = clock.nowMs();
    const unique = `${nowMs.toString(16)}${Math.floor(clock.random() * 0xff_ff_ff).toString(16)}`;
    return {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { namespace, name: `${name.slice(0, MAX_NAME_CHARACTERS)}.${unique}` },
      eventTime: microTime(nowMs),
      reportingController: CONTROLLER,
      reportingInstance: identity.slice(0, MAX_IDENTITY_CHARACTERS),
      action: 'Reconcile',
      reason,
      note: note.slice(0, MAX_NOTE_CHARACTERS),
      type,
      regarding: { apiVersion, kind, namespace, name, ...(uid !== '' && { uid }) },
    };
  }

  return {
    record(object, note) {
      if (!allows(object.namespace, clock.nowMs())) return count('dropped');
      const written = write(object, note);
      writing.add(written);
      void written.then(() => writing.delete(written));
    },
    async stop() {
      await Promise.all(writing);
    },
  };
}
