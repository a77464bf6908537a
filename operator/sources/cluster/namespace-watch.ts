/** Watches all namespaces: their labels, by which Groups select, and which of them are being deleted. */
import { sameLabels } from '#objects/relevance.ts';
import type { Labels } from '#objects/resources.ts';
import type { Collection, ListWatch, ListWatchOptions } from '#kube/list-watch.ts';
import type { KubeObject } from '#kube/models.ts';

/** Starts a watch with everything else that it needs. */
export type StartWatch = (
  collection: Collection,
  handlers: Pick<ListWatchOptions, 'onPage' | 'onReplace' | 'onApplied' | 'onDeleted' | 'begin'>,
) => ListWatch;

interface NamespaceWatch {
  readonly watch: ListWatch;
  /** By name; the same map until something changes. */
  labels(): ReadonlyMap<string, Labels>;
  /** The namespaces that are being deleted; the same set until something changes. */
  terminating(): ReadonlySet<string>;
}

interface NamespaceState {
  readonly labels: Labels;
  readonly terminating: boolean;
}

/** Starts at once. `onChange` is called after each change of labels or deletions. */
export function watchNamespaces(start: StartWatch, onChange: () => void): NamespaceWatch {
  const known = new Map<string, NamespaceState>();
  let labels: ReadonlyMap<string, Labels> = new Map();
  let terminating: ReadonlySet<string> = new Set();

  function changed(): void {
    labels = new Map([...known].map(([name, state]) => [name, state.labels]));
    terminating = new Set([...known].flatMap(([name, state]) => (state.terminating ? [name] : [])));
    onChange();
  }

  const watch = start(
    { resource: 'namespaces', path: '/api/v1/namespaces' },
    {
      onReplace(all) {
        known.clear();
        for (const object of all) known.set(object.metadata.name, stateOf(object));
        changed();
      },
      onApplied(object) {
        const [before, now] = [known.get(object.metadata.name), stateOf(object)];
        if (before?.terminating === now.terminating && sameLabels(before.labels, now.labels)) return;
        known.set(object.metadata.name, now);
        changed();
      },
      onDeleted({ metadata }) {
        known.delete(metadata.name);
        changed();
      },
    },
  );
  return { watch, labels: () => labels, terminating: () => terminating };
}

function stateOf({ metadata }: KubeObject): NamespaceState {
  return { labels: metadata.labels ?? {}, terminating: metadata.deletionTimestamp !== undefined };
}
