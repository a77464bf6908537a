/**
 * Watches the Secrets with providers' credentials: one watch for each Secret that a ModelRoute references, with a field
 * selector on its name. A rotated credential takes effect as soon as its Secret is written, without polling and without
 * the right to read other Secrets: RBAC's resourceNames allows exactly such a watch.
 */
import type { ModelRoute } from '#crds/types.gen.ts';
import type { LiveSecrets } from '../../store/live-secrets.ts';
import { startListWatch } from '#kube/list-watch.ts';
import type { ListWatch, ListWatchOptions } from '#kube/list-watch.ts';
import { parseSecretObject, pathOfSecrets } from '#kube/parse-object.ts';

interface CredentialWatches {
  /** Watches exactly the Secrets that these routes reference. */
  follow(routes: readonly ModelRoute[]): void;
  /** True if each Secret that this route references has been read, or could not be read. */
  knows(route: ModelRoute): boolean;
  /** The reasons why Secrets cannot be read, by "namespace/name". */
  unreadable(): ReadonlyMap<string, string>;
  stop(): Promise<void>;
}

interface CredentialWatchOptions extends Pick<
  ListWatchOptions,
  'client' | 'clock' | 'meter' | 'log' | 'idleTimeoutMs'
> {
  readonly namespace: string;
  readonly secrets: LiveSecrets;
  /** Called when one more Secret has been read, or could not be read. */
  readonly onKnown: () => void;
}

interface Watched {
  readonly watch: ListWatch;
  /** True once the Secret has been read, or could not be read. */
  answered: boolean;
}

export function watchCredentials(options: CredentialWatchOptions): CredentialWatches {
  const { namespace, secrets, onKnown } = options;
  const watches = new Map<string, Watched>();
  const ending = new Set<Promise<void>>();

  function start(name: string): void {
    const source = sourceOf(name);
    const answered = (): void => {
      const watched = watches.get(name);
      if (watched) watched.answered = true;
      onKnown();
    };
    const watch = startListWatch({
      ...options,
      collection: {
        resource: 'secrets/credential',
        path: pathOfSecrets(namespace),
        fieldSelector: `metadata.name=${name}`,
      },
      onReplace(objects) {
        secrets.replace(source, objects.map(parseSecretObject));
        answered();
      },
      onApplied: (object) => secrets.apply(source, parseSecretObject(object)),
      onDeleted: (object) => secrets.remove(source, parseSecretObject(object)),
      onProblem: answered,
    });
    watches.set(name, { watch, answered: false });
  }

  function end(name: string, { watch }: Watched): void {
    watches.delete(name);
    secrets.drop(sourceOf(name));
    const ended = watch.stop();
    ending.add(ended);
    void ended.then(() => ending.delete(ended));
  }

  return {
    follow(routes) {
      const named = new Set(routes.flatMap(secretNames));
      for (const [name, watched] of watches) if (!named.has(name)) end(name, watched);
      for (const name of named) if (!watches.has(name)) start(name);
    },
    knows: (route) => secretNames(route).every((name) => watches.get(name)?.answered),
    unreadable: () =>
      new Map(
        [...watches].flatMap(
          ([
            name,
            {
              watch: { synced, problem },
            },
          ]) => (synced || problem === undefined ? [] : [[`${namespace}/${name}`, problem]]),
        ),
      ),
    async stop() {
      for (const [name, watched] of watches) end(name, watched);
      await Promise.all(ending);
    },
  };
}

function sourceOf(name: string): string {
  return `credential ${name}`;
}

function secretNames({ spec }: ModelRoute): string[] {
  return spec.channels.flatMap(({ auth }) => (auth?.secretRef ? [auth.secretRef.name] : []));
}
