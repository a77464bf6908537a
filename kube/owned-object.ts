/**
 * A Secret or ConfigMap of the gateway's namespace that the operator owns. A write creates it or replaces exactly the
 * version that was read, which excludes concurrent writers; a watch tells when anybody has changed or deleted it.
 */
import type { Logger } from 'pino';
import type { ObjectRef } from '#objects/live-object.ts';
import { MERGE_PATCH } from './client.ts';
import type { KubeClient } from './client.ts';
import { hasStatus } from './errors.ts';
import { startListWatch } from './list-watch.ts';
import type { ListWatch, ListWatchOptions } from './list-watch.ts';
import type { ConfigMap, Secret } from './models.ts';

/** The object's entries by name, as text. */
export type Entries = Readonly<Record<string, string | undefined>>;

/** A version of the object. */
export interface OwnedState {
  readonly entries: Entries;
  readonly resourceVersion: string | undefined;
}

/** The object for people, and for Events. */
export type OwnedRef = ObjectRef<'Secret' | 'ConfigMap'>;

export interface OwnedObject {
  /** Undefined if there is none. */
  read(): Promise<Entries | undefined>;
  /** Creates it or replaces all entries. Undefined if somebody else has written since it was read. */
  write(entries: Entries): Promise<OwnedRef | undefined>;
  /**
   * Replaces the text of one entry with the result of `change`; the text of a missing entry is empty. Retries if another
   * replica writes first. Resolves with the current object, or undefined if there is none and nothing was written.
   */
  edit(entry: string, change: (text: string) => string): Promise<OwnedState | undefined>;
  /** Calls `onChange` at the start and whenever the object may have changed; undefined: there is none. */
  watch(parts: OwnedWatch, onChange: (state: OwnedState | undefined) => void): ListWatch;
}

export interface OwnedWatch extends Pick<ListWatchOptions, 'clock' | 'meter'> {
  readonly client: Pick<KubeClient, 'request' | 'watch'>;
  readonly log: Pick<Logger, 'info' | 'warn'>;
}

/** How a replica keeps what the operator owns. */
export interface Ownership extends OwnedWatch {
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** The gateway's namespace. */
  readonly namespace: string;
  /** Returns whether this replica may write. */
  readonly leading: () => boolean;
  /** Called when this replica has restored what somebody else had deleted or changed. */
  readonly onRestored: (object: OwnedRef) => void;
}

type Naming = Omit<OwnedRef, 'uid'>;
type OwnedManifest = Secret | ConfigMap;

/** The object that was read last, as the precondition of a write. */
interface Version {
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
}

/** After a conflict, a replica reads again. In each round, one replica succeeds. */
const MAX_ATTEMPTS = 20;

/** Methods reject with the client's errors. */
export function ownedObject(client: Pick<KubeClient, 'request'>, { kind, namespace, name }: Naming): OwnedObject {
  const resource = kind === 'Secret' ? 'secrets' : 'configmaps';
  const folder = `/api/v1/namespaces/${namespace}/${resource}`;
  const path = `${folder}/${name}`;
  /** The version that was read last; undefined: there was none. */
  let version: Version | undefined;

  function entriesOf({ data = {} }: OwnedManifest): Entries {
    return Object.fromEntries(
      Object.entries(data).map(([entry, text]) => [entry, kind === 'Secret' ? decoded(text) : text]),
    );
  }

  function dataOf(entries: Entries): Readonly<Record<string, string>> {
    const texts = Object.entries(entries).filter((entry): entry is [string, string] => entry[1] !== undefined);
    return Object.fromEntries(
      texts.map(([entry, text]) => [entry, kind === 'Secret' ? Buffer.from(text).toString('base64') : text]),
    );
  }

  function manifestOf(entries: Entries): object {
    const metadata = {
      name,
      namespace,
      labels: { 'app.kubernetes.io/managed-by': 'model-gateway' },
      ...(version && { resourceVersion: version.resourceVersion }),
    };
    return { apiVersion: 'v1', kind, ...(kind === 'Secret' && { type: 'Opaque' }), metadata, data: dataOf(entries) };
  }

  const stateOf = (object: OwnedManifest): OwnedState => ({
    entries: entriesOf(object),
    resourceVersion: object.metadata?.resourceVersion,
  });

  async function read(): Promise<OwnedState | undefined> {
    try {
      const found: OwnedManifest = await client.request({ method: 'GET', path });
      version = { uid: found.metadata?.uid, resourceVersion: found.metadata?.resourceVersion };
      return stateOf(found);
    } catch (error) {
      if (!hasStatus(error, 404)) throw error;
      version = undefined;
      return undefined;
    }
  }

  /** Rejects with 409 or 404 where somebody else has written since it was read. */
  function setEntry(entry: string, text: string): Promise<OwnedManifest> {
    const entries = { [entry]: text };
    return version
      ? client.request({
          method: 'PATCH',
          path,
          contentType: MERGE_PATCH,
          body: { metadata: version, data: dataOf(entries) },
        })
      : client.request({ method: 'POST', path: folder, body: manifestOf(entries) });
  }

  return {
    read: async () => (await read())?.entries,
    async write(entries) {
      const exists = version !== undefined;
      try {
        const written: OwnedManifest = await client.request({
          method: exists ? 'PUT' : 'POST',
          path: exists ? path : folder,
          body: manifestOf(entries),
        });
        return { kind, namespace, name, uid: written.metadata?.uid ?? '' };
      } catch (error) {
        if (hasStatus(error, 409, exists ? 404 : 409)) return undefined;
        throw error;
      }
    },
    async edit(entry, change) {
      for (let attempt = 1; ; attempt++) {
        const found = await read();
        const before = found?.entries[entry] ?? '';
        const text = change(before);
        if (text === before) return found;
        try {
          return stateOf(await setEntry(entry, text));
        } catch (error) {
          if (!hasStatus(error, 404, 409) || attempt >= MAX_ATTEMPTS) throw error; // else another replica was quicker
        }
      }
    },
    watch: (parts, onChange) =>
      startListWatch({
        ...parts,
        collection: { resource: `${resource}/own`, path: folder, fieldSelector: `metadata.name=${name}` },
        onReplace: ([object]) => onChange(object && stateOf(object)),
        onApplied: (object) => onChange(stateOf(object)),
        onDeleted: () => onChange(undefined),
      }),
  };
}

function decoded(base64: string): string {
  return Buffer.from(base64, 'base64').toString('utf8');
}
