/**
 * Resources from a cluster: the five kinds, the namespaces' labels, the Secrets of ApiKeys by label, and the Secrets
 * that ModelRoutes reference by name, never all Secrets. With watchNamespaces only these namespaces and the gateway's
 * own are read; Namespaces, which are cluster-scoped, are then not read, and selectors see only a namespace's name.
 */
import { PLURALS } from '#crds/types.gen.ts';
import type { Kind, ModelRoute } from '#crds/types.gen.ts';
import { KEY_LABEL, PREVIOUS_ANNOTATION, hasForgedPreviousKeys } from '../store/key-secret.ts';
import { openLiveObjects } from '../store/live-objects.ts';
import { sameItems } from '../store/same.ts';
import type { AdmitObject, LiveObjects } from '../store/live-objects.ts';
import { openLiveSecrets } from '../store/live-secrets.ts';
import type { LiveSecrets } from '../store/live-secrets.ts';
import { namespacedName } from '../store/resources.ts';
import type { Labels, Resources, SecretObject } from '../store/resources.ts';
import { watchCredentials } from './credential-watches.ts';
import { startListWatch } from './list-watch.ts';
import type { KubeObject } from './models.ts';
import type { ListWatch, ListWatchOptions } from './list-watch.ts';
import { watchNamespaces } from './namespace-watch.ts';
import type { StartWatch } from './namespace-watch.ts';
import { parseResource, parseSecretObject, pathOfKind, pathOfSecrets } from './parse-object.ts';

interface ClusterProviderOptions extends Pick<
  ListWatchOptions,
  'client' | 'clock' | 'meter' | 'log' | 'idleTimeoutMs' | 'pageSize'
> {
  readonly gatewayNamespace: string;
  /** The key, derived for the purpose `previous-keys`, that authenticates the lists of replaced keys in Secrets. */
  readonly macKey: Uint8Array;
  readonly admit?: AdmitObject;
  /** Absent: all namespaces. */
  readonly watchNamespaces?: readonly string[];
  /** Called when something that translate reads has changed. */
  readonly onResources: () => void;
  /** Called when a live object has changed or was deleted, with "Kind namespace/name". */
  readonly onLive: (id: string) => void;
  /** Called when an object may look different to people. */
  readonly onChange?: (id: string) => void;
}

export interface ClusterProvider {
  /** Resolves once everything has been read. */
  readonly ready: Promise<void>;
  readonly objects: LiveObjects;
  /** The current resources. */
  resources(): Resources;
  /** True if the namespace is known to be in deletion; always false without the right to read Namespaces. */
  isTerminating(namespace: string): boolean;
  /** Adds an ApiKey's Secret from the response to a write, before its watch reports it. */
  keySecretWritten(secret: SecretObject): void;
  /**
   * Records, without its values, an unlabelled Secret that has the name of a key's Secret, because no watch reports it.
   * undefined: it is gone.
   */
  keySecretTaken(id: string, secret: SecretObject | undefined): void;
  /** Sentences about what cannot be read at the moment. */
  problems(): readonly string[];
  stop(): Promise<void>;
}

const NO_LABELS: ReadonlyMap<string, Labels> = new Map();
const KINDS = ['Group', 'ModelRoute', 'PriceCatalog', 'Account', 'ApiKey'] as const satisfies readonly Kind[];

/** Starts reading at once. */
export function provideCluster(options: ClusterProviderOptions): ClusterProvider {
  const { gatewayNamespace, onResources, onLive } = options;
  const scopes =
    options.watchNamespaces === undefined ? [undefined] : [...new Set([gatewayNamespace, ...options.watchNamespaces])];
  const ready = Promise.withResolvers<void>();
  const secrets = openLiveSecrets(onResources);
  const objects = openLiveObjects({
    onLive,
    ...(options.onChange && { onChange: options.onChange }),
    ...(options.admit && { admit: options.admit }),
    onSpecs(kind) {
      if (kind === 'ModelRoute') followCredentials();
      onResources();
    },
  });
  const credentials = watchCredentials({ ...options, namespace: gatewayNamespace, secrets, onKnown: advance });
  const routes = retainRoutes((route) => route.metadata.namespace !== gatewayNamespace || credentials.knows(route));

  const start: StartWatch = (collection, handlers) =>
    startListWatch({
      ...options,
      collection,
      ...handlers,
      onReplace(all) {
        handlers.onReplace(all);
        advance();
      },
    });
  const kinds = scopes.flatMap((namespace) => KINDS.map((kind) => watchKind(start, objects, kind, namespace)));
  const verified = verifier(options);
  const keys = scopes.map((namespace) => watchKeys(start, { secrets, verified }, namespace));
  const namespaces = options.watchNamespaces === undefined ? watchNamespaces(start, onResources) : undefined;
  const watches = [...kinds, ...keys, ...(namespaces ? [namespaces.watch] : [])];

  /** Follows also the Secrets of a route's retained version. */
  function followCredentials(): void {
    credentials.follow([
      ...routesOf(objects, gatewayNamespace),
      ...routes.shown().filter(({ metadata }) => metadata.namespace === gatewayNamespace),
    ]);
  }

  function readRoutes(): readonly ModelRoute[] {
    routes.update(objects.ofKind('ModelRoute'));
    followCredentials();
    return routes.shown();
  }

  function advance(): void {
    onResources();
    if (
      watches.every(({ synced }) => synced) &&
      routesOf(objects, gatewayNamespace).every((route) => credentials.knows(route))
    )
      ready.resolve();
  }

  return {
    ready: ready.promise,
    objects,
    resources: () =>
      Object.freeze({
        apiKeys: objects.byNamespace('ApiKey'),
        accounts: objects.byNamespace('Account'),
        groups: objects.ofKind('Group'),
        modelRoutes: readRoutes(),
        priceCatalogs: objects.ofKind('PriceCatalog'),
        secrets: secrets.all(),
        namespaces: namespaces?.labels() ?? NO_LABELS,
        ...(namespaces && { terminatingNamespaces: namespaces.terminating() }),
        malformed: objects.malformed(),
        unreadable: credentials.unreadable(),
      }),
    isTerminating: (namespace) => namespaces?.terminating().has(namespace) ?? false,
    keySecretWritten: (secret) =>
      secrets.apply(keySource(options.watchNamespaces && secret.namespace), verified(secret)),
    keySecretTaken(id, secret) {
      const source = `taken ${id}`;
      if (secret) secrets.apply(source, { ...secret, data: new Map() });
      else secrets.drop(source);
    },
    problems: () =>
      watches.flatMap(({ collection, problem, synced }) =>
        problem === undefined && synced ? [] : [`${collection.resource}: ${problem ?? 'not read yet'}`],
      ),
    async stop() {
      await Promise.all([...watches, credentials].map((each) => each.stop()));
    },
  };
}

function watchKind(start: StartWatch, objects: LiveObjects, kind: Kind, namespace: string | undefined): ListWatch {
  const source = `${kind} ${namespace ?? ''}`;
  return start(
    { resource: PLURALS[kind], path: pathOfKind(kind, namespace) },
    {
      onReplace: (all) =>
        objects.replace(
          source,
          all.map((object) => parseResource(kind, object)),
        ),
      onApplied: (object) => objects.apply(source, parseResource(kind, object)),
      onDeleted: (object) => objects.remove(source, parseResource(kind, object)),
    },
  );
}

type Verified = (secret: SecretObject) => SecretObject;

/** Removes from Secrets the lists of replaced keys that the gateway has not written. */
function verifier({ macKey, log }: ClusterProviderOptions): Verified {
  return (secret) => {
    if (!hasForgedPreviousKeys(secret, macKey)) return secret;
    log.warn(
      { secret: namespacedName(secret), annotation: PREVIOUS_ANNOTATION },
      'this gateway has not written the list of replaced keys in this Secret, so none of them works',
    );
    const { [PREVIOUS_ANNOTATION]: _, ...annotations } = secret.annotations;
    return { ...secret, annotations };
  };
}

interface KeyStore {
  readonly secrets: LiveSecrets;
  readonly verified: Verified;
}

function watchKeys(start: StartWatch, { secrets, verified }: KeyStore, namespace: string | undefined): ListWatch {
  const parse = (object: KubeObject): SecretObject => verified(parseSecretObject(object));
  const source = keySource(namespace);
  return start(
    { resource: 'secrets/key', path: pathOfSecrets(namespace), labelSelector: KEY_LABEL },
    {
      onReplace: (all) => secrets.replace(source, all.map(parse)),
      onApplied: (object) => secrets.apply(source, parse(object)),
      onDeleted: (object) => secrets.remove(source, parseSecretObject(object)),
    },
  );
}

function keySource(namespace: string | undefined): string {
  return `keys ${namespace ?? ''}`;
}

function routesOf(objects: LiveObjects, namespace: string): ModelRoute[] {
  return objects.ofKind('ModelRoute').filter(({ metadata }) => metadata.namespace === namespace);
}

interface RetainedRoutes {
  update(routes: readonly ModelRoute[]): void;
  shown(): readonly ModelRoute[];
}

/**
 * Keeps a route's last version while a newly referenced Secret is being read: an edit must not remove a channel even
 * for a moment.
 */
function retainRoutes(isKnown: (route: ModelRoute) => boolean): RetainedRoutes {
  let shown = new Map<string, ModelRoute>();
  let list: readonly ModelRoute[] = [];
  return {
    update(routes) {
      shown = new Map(
        routes.flatMap((route): [string, ModelRoute][] => {
          const id = route.metadata.uid ?? route.metadata.name;
          const current = isKnown(route) ? route : shown.get(id);
          return current ? [[id, current]] : [];
        }),
      );
      const next = [...shown.values()];
      if (!sameItems(next, list)) list = next;
    },
    shown: () => list,
  };
}
