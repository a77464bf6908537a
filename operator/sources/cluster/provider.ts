/**
 * Resources from a cluster: the five kinds, the namespaces' labels, the Secrets of ApiKeys by label, and the Secrets
 * that ModelRoutes reference by name, never all Secrets. The objects of one namespace may take a bounded share of the
 * memory. With watchNamespaces only these namespaces and the gateway's own are read; Namespaces, which are
 * cluster-scoped, are then not read, and selectors see only a namespace's name.
 */
import { ALL_KINDS } from '#crds/kinds.ts';
import { KINDS } from '#crds/types.gen.ts';
import type { Kind, ModelRoute } from '#crds/types.gen.ts';
import { hasForgedPreviousKeys } from '../../security/previous-keys.ts';
import { PREVIOUS_ANNOTATION } from '#objects/key-secret.ts';
import { openLiveObjects } from '../../store/live-objects.ts';
import { sameItems } from '../../store/same.ts';
import type { AdmitObject, BeyondObject, LiveObjects } from '../../store/live-objects.ts';
import { createNamespaceBound } from '../../store/namespace-bound.ts';
import { openLiveSecrets } from '../../store/live-secrets.ts';
import { namespacedName, objectId } from '#objects/resources.ts';
import type { Labels, Resources, SecretObject } from '#objects/resources.ts';
import { watchCredentials } from './credential-watches.ts';
import { keySource, watchKeySecrets } from './key-secrets.ts';
import { startListWatch } from '#kube/list-watch.ts';
import type { ListWatch, ListWatchOptions } from '#kube/list-watch.ts';
import { watchNamespaces } from './namespace-watch.ts';
import type { StartWatch } from './namespace-watch.ts';
import { parseResource, pathOfKind } from '#kube/parse-object.ts';
import { createReadQueue } from './read-queue.ts';
import type { ReadQueue } from './read-queue.ts';

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
  /** The most bytes that the objects of one namespace may take; absent, and in the gateway's own: any number. */
  readonly namespaceBytes?: number;
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
  /** The number of objects that do not count, because their namespaces have too many. */
  readonly beyondBound: number;
  /** The current resources. Reading them changes nothing. */
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

/** How often namespaces that have too much are looked at. */
const SETTLE_EVERY_MS = 1_000;
const NO_LABELS: ReadonlyMap<string, Labels> = new Map();

/** Starts reading at once. */
export function provideCluster(options: ClusterProviderOptions): ClusterProvider {
  const { gatewayNamespace, onResources, onLive } = options;
  const scopes =
    options.watchNamespaces === undefined ? [undefined] : [...new Set([gatewayNamespace, ...options.watchNamespaces])];
  const ready = Promise.withResolvers<void>();
  const secrets = openLiveSecrets(onResources);
  const reads = createReadQueue(options);
  const keySecrets = watchKeySecrets({ secrets, reads, verified: verifier(options) });
  const bound = createNamespaceBound({
    maxBytes: options.namespaceBytes ?? Infinity,
    exemptNamespace: gatewayNamespace,
  });
  const objects = openLiveObjects({
    bound,
    onApiKey: (id, apiKey) =>
      keySecrets.named(id, apiKey?.spec.gatewayNamespace === gatewayNamespace ? apiKey : undefined),
    onLive,
    ...(options.onChange && { onChange: options.onChange }),
    ...(options.admit && { admit: options.admit }),
    onSpecs(kind) {
      if (kind === 'ModelRoute') routesChanged();
      onResources();
    },
  });
  const credentials = watchCredentials({
    ...options,
    namespace: gatewayNamespace,
    secrets,
    onKnown() {
      routesChanged();
      advance();
    },
  });
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
  const watchesOfScopes = scopes.flatMap((namespace) => {
    const apiKeysListed = Promise.withResolvers<void>();
    const kinds = ALL_KINDS.map((kind) =>
      watchKind(start, { objects, kind, namespace, onListed: kind === 'ApiKey' ? apiKeysListed.resolve : settle }),
    );
    // Secrets are listed later, so that it is known which of them are named
    const begun: StartWatch = (collection, handlers) =>
      start(collection, { ...handlers, begin: apiKeysListed.promise });
    return [...kinds, keySecrets.watch(begun, namespace)];
  });
  const namespaces = options.watchNamespaces === undefined ? watchNamespaces(start, onResources) : undefined;
  const watches = [...watchesOfScopes, ...(namespaces ? [namespaces.watch] : [])];
  const verified = verifier(options);

  /** Releases what namespaces have too much, and reads again what they have room for. */
  function settle(): void {
    for (const object of objects.settle()) readAgain(reads, objects, object);
  }

  let cancelSettle = (): void => undefined;
  const settleLater = (): void => {
    cancelSettle = options.clock.after(SETTLE_EVERY_MS, () => {
      settle();
      settleLater();
    });
  };
  settleLater();

  /** Follows also the Secrets of a route's retained version. */
  function followCredentials(): void {
    credentials.follow([
      ...routesOf(objects, gatewayNamespace),
      ...routes.shown().filter(({ metadata }) => metadata.namespace === gatewayNamespace),
    ]);
  }

  /** A route was edited, or a Secret that a route names is known. */
  function routesChanged(): void {
    followCredentials();
    routes.update(objects.ofKind('ModelRoute'));
    followCredentials(); // no longer those that only the replaced versions name
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
        modelRoutes: routes.shown(),
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
    get beyondBound() {
      return bound.beyond;
    },
    async stop() {
      cancelSettle();
      reads.stop();
      await Promise.all([...watches, credentials].map((each) => each.stop()));
    },
  };
}

interface WatchedKind {
  readonly objects: LiveObjects;
  readonly kind: Kind;
  readonly namespace: string | undefined;
  /** Called after each complete list. */
  readonly onListed: () => void;
}

function watchKind(start: StartWatch, { objects, kind, namespace, onListed }: WatchedKind): ListWatch {
  const source = `${kind} ${namespace ?? ''}`;
  return start(
    { resource: KINDS[kind].plural, path: pathOfKind(kind, namespace) },
    {
      onPage(page) {
        for (const object of page) objects.apply(source, parseResource(kind, object));
      },
      onReplace(all) {
        objects.retain(source, new Set(all.map(({ metadata }) => objectId(kind, { namespace: '', ...metadata }))));
        onListed();
      },
      onApplied: (object) => objects.apply(source, parseResource(kind, object)),
      onDeleted: (object) => objects.remove(source, parseResource(kind, object)),
    },
  );
}

function readAgain(reads: ReadQueue, objects: LiveObjects, { source, reference }: BeyondObject): void {
  const { kind, metadata } = reference;
  const { namespace, name } = metadata;
  reads.read({
    path: pathOfKind(kind, namespace),
    namespace,
    name,
    onRead: (object) => objects.readAgain(source, parseResource(kind, object)),
  });
}

type Verified = (secret: SecretObject) => SecretObject;

/** Removes from Secrets the lists of replaced keys that the gateway has not written. */
function verifier({ macKey, log }: ClusterProviderOptions): Verified {
  return (secret) => {
    if (!hasForgedPreviousKeys(secret, macKey)) return secret;
    log.warn(
      { secret: namespacedName(secret), annotation: PREVIOUS_ANNOTATION },
      'the list of replaced keys in this Secret was not written by this gateway, so none of them is valid',
    );
    const { [PREVIOUS_ANNOTATION]: _, ...annotations } = secret.annotations;
    return { ...secret, annotations };
  };
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
