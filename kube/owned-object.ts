/**
 * A Secret or ConfigMap of the gateway's namespace that the operator owns. A write creates it or replaces exactly the
 * version that was read, which excludes concurrent writers; a watch tells when anybody has changed or deleted it.
 */
import type { Logger } from 'pino';
import type { ObjectRef } from '#objects/live-object.ts';
import type { KubeClient } from './client.ts';
import { hasStatus } from './errors.ts';
import { startListWatch } from './list-watch.ts';
import type { ListWatch, ListWatchOptions } from './list-watch.ts';
import type { ConfigMap, Secret } from './models.ts';

/** The object's entries by name, as text. */
export type Entries = Readonly<Record<string, string | undefined>>;

/** The object for people, and for Events. */
export type OwnedRef = ObjectRef<'Secret' | 'ConfigMap'>;

export interface OwnedObject {
  /** Undefined if there is none. */
  read(): Promise<Entries | undefined>;
  /** Undefined if somebody else has written since it was read. */
  write(entries: Entries): Promise<OwnedRef | undefined>;
  /** Calls `onChange` when it is there, and whenever it may have changed. */
  watch(parts: OwnedWatch, onChange: () => void): ListWatch;
}

export interface OwnedWatch extends Pick<ListWatchOptions, 'clock' | 'meter'> {
  readonly client: Pick<KubeClient, 'request' | 'watch'>;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
}

/** How a replica keeps what the operator owns. */
export interface Ownership extends OwnedWatch {
  /** The gateway's namespace. */
  readonly namespace: string;
  /** Returns whether this replica may write. */
  readonly leading: () => boolean;
  /** Called when this replica has restored what somebody else had deleted or changed. */
  readonly onRestored: (object: OwnedRef) => void;
}

type Naming = Omit<OwnedRef, 'uid'>;

/** Methods reject with the client's errors. */
export function ownedObject(client: Pick<KubeClient, 'request'>, { kind, namespace, name }: Naming): OwnedObject {
  const resource = kind === 'Secret' ? 'secrets' : 'configmaps';
  const folder = `/api/v1/namespaces/${namespace}/${resource}`;
  /** The version that was read last; undefined: there was none. */
  let version: string | undefined;

  return {
    async read() {
      try {
        const found: Secret | ConfigMap = await client.request({ method: 'GET', path: `${folder}/${name}` });
        version = found.metadata?.resourceVersion;
        return Object.fromEntries(
          Object.entries(found.data ?? {}).map(([entry, text]) => [entry, kind === 'Secret' ? decoded(text) : text]),
        );
      } catch (error) {
        if (!hasStatus(error, 404)) throw error;
        version = undefined;
        return undefined;
      }
    },
    async write(entries) {
      const exists = version !== undefined;
      const metadata = {
        name,
        namespace,
        labels: { 'app.kubernetes.io/managed-by': 'model-gateway' },
        ...(exists && { resourceVersion: version }),
      };
      const texts = Object.entries(entries).filter((entry): entry is [string, string] => entry[1] !== undefined);
      const data = Object.fromEntries(
        texts.map(([entry, text]) => [entry, kind === 'Secret' ? Buffer.from(text).toString('base64') : text]),
      );
      try {
        const written: Secret | ConfigMap = await client.request({
          method: exists ? 'PUT' : 'POST',
          path: exists ? `${folder}/${name}` : folder,
          body: { apiVersion: 'v1', kind, ...(kind === 'Secret' && { type: 'Opaque' }), metadata, data },
        });
        return { kind, namespace, name, uid: written.metadata?.uid ?? '' };
      } catch (error) {
        if (hasStatus(error, 409, exists ? 404 : 409)) return undefined;
        throw error;
      }
    },
    watch: (parts, onChange) =>
      startListWatch({
        ...parts,
        collection: { resource: `${resource}/own`, path: folder, fieldSelector: `metadata.name=${name}` },
        onReplace: onChange,
        onApplied: onChange,
        onDeleted: onChange,
      }),
  };
}

function decoded(base64: string): string {
  return Buffer.from(base64, 'base64').toString('utf8');
}
