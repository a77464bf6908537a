/** The labels of all namespaces, which Groups select by. */
import { sameLabels } from '../store/relevance.ts';
import type { Labels } from '../store/resources.ts';
import type { Collection, ListWatch, ListWatchOptions } from './list-watch.ts';
import type { KubeObject } from './models.ts';

/** Starts a watch with all else that it needs. */
export type StartWatch =
  (collection: Collection, handlers: Pick<ListWatchOptions, 'onReplace' | 'onApplied' | 'onDeleted'>) => ListWatch;

interface NamespaceWatch {
  readonly watch: ListWatch;
  /** By name; the same map as long as nothing has changed. */
  labels(): ReadonlyMap<string, Labels>;
}

export function watchNamespaces(start: StartWatch, onChange: () => void): NamespaceWatch {
  let known: ReadonlyMap<string, Labels> = new Map();
  function become(next: ReadonlyMap<string, Labels>): void {
    known = next;
    onChange();
  }
  const watch = start({ resource: 'namespaces', path: '/api/v1/namespaces' }, {
    onReplace: (all) => become(new Map(all.map((object) => [object.metadata.name, labelsOf(object)]))),
    onApplied(object) {
      const before = known.get(object.metadata.name);
      if (!before || !sameLabels(before, labelsOf(object)))
        become(new Map([...known, [object.metadata.name, labelsOf(object)]]));
    },
    onDeleted: ({ metadata }) => become(new Map([...known].filter(([name]) => name !== metadata.name))),
  });
  return { watch, labels: () => known };
}

function labelsOf(object: KubeObject): Labels {
  return object.metadata.labels ?? {};
}
