/**
 * The Secrets of ApiKeys, watched by their label. Only Secrets that an ApiKey names are held; of the others only the
 * names are kept, and such a Secret is read once an ApiKey names it. So nobody fills the operator's memory with Secrets.
 */
import type { ApiKey } from '#crds/types.gen.ts';
import { KEY_LABEL, secretRefOf } from '#objects/key-secret.ts';
import type { LiveSecrets } from '../../store/live-secrets.ts';
import { namespacedName } from '#objects/resources.ts';
import type { SecretObject } from '#objects/resources.ts';
import type { ListWatch } from '#kube/list-watch.ts';
import type { KubeObject } from '#kube/models.ts';
import type { StartWatch } from './namespace-watch.ts';
import { parseKeySecret, pathOfSecrets } from '#kube/parse-object.ts';
import type { ReadQueue } from './read-queue.ts';

interface KeySecretOptions {
  readonly secrets: LiveSecrets;
  readonly reads: ReadQueue;
  /** Removes what the gateway has not written. */
  readonly verified: (secret: SecretObject) => SecretObject;
}

export interface KeySecretWatches {
  /** Watches one namespace, or all. */
  watch(start: StartWatch, namespace: string | undefined): ListWatch;
  /** Call it when an ApiKey begins to count, has changed, or counts no longer. */
  named(id: string, apiKey: ApiKey | undefined): void;
}

export function watchKeySecrets({ secrets, reads, verified }: KeySecretOptions): KeySecretWatches {
  /** "namespace/name" of the Secret that each ApiKey names. */
  const nameOf = new Map<string, string>();
  /** How many ApiKeys name a Secret. */
  const naming = new Map<string, number>();
  /** The watches' Secrets that are not held, with their watch. */
  const passedOver = new Map<string, string>();

  function take(source: string, object: KubeObject): void {
    const id = namespacedName({ namespace: '', ...object.metadata });
    if (!naming.has(id)) {
      secrets.forget(source, parseKeySecret(object));
      passedOver.set(id, source);
      return;
    }
    passedOver.delete(id);
    secrets.apply(source, verified(parseKeySecret(object)));
  }

  function readOne(id: string, source: string): void {
    const [namespace = '', name = ''] = id.split('/');
    reads.read({
      path: pathOfSecrets(namespace),
      namespace,
      name,
      // a Secret that was deleted, or has lost its label, is no longer among those passed over
      onRead: (object) => {
        if (passedOver.has(id)) take(source, object);
      },
    });
  }

  function released(id: string): void {
    const left = (naming.get(id) ?? 0) - 1;
    if (left > 0) return void naming.set(id, left);
    naming.delete(id);
    for (const [source, secret] of secrets.sourcesOf(id)) {
      if (!source.startsWith(SOURCE)) continue;
      secrets.forget(source, secret);
      passedOver.set(id, source);
    }
  }

  return {
    named(apiKeyId, apiKey) {
      const before = nameOf.get(apiKeyId);
      const now = apiKey && namespacedName(secretRefOf(apiKey));
      if (before === now) return;
      if (now === undefined) nameOf.delete(apiKeyId);
      else {
        nameOf.set(apiKeyId, now);
        naming.set(now, (naming.get(now) ?? 0) + 1);
        const source = passedOver.get(now);
        if (source !== undefined) readOne(now, source);
      }
      if (before !== undefined) released(before);
    },
    watch(start, namespace) {
      const source = keySource(namespace);
      return start(
        { resource: 'secrets/key', path: pathOfSecrets(namespace), labelSelector: KEY_LABEL },
        {
          onPage(page) {
            for (const object of page) take(source, object);
          },
          onReplace(all) {
            const listed = new Set(all.map(({ metadata }) => namespacedName({ namespace: '', ...metadata })));
            secrets.retain(source, listed);
            for (const [id, from] of passedOver) if (from === source && !listed.has(id)) passedOver.delete(id);
          },
          onApplied: (object) => take(source, object),
          onDeleted(object) {
            passedOver.delete(namespacedName({ namespace: '', ...object.metadata }));
            secrets.remove(source, parseKeySecret(object));
          },
        },
      );
    },
  };
}

const SOURCE = 'keys ';

/** The watch that reports a Secret of this namespace; undefined: of all namespaces. */
export function keySource(namespace: string | undefined): string {
  return `${SOURCE}${namespace ?? ''}`;
}
