/** Watches the EndpointSlices of one Service. */
import { startListWatch } from '#kube/list-watch.ts';
import type { ListWatch, ListWatchOptions } from '#kube/list-watch.ts';
import type { EndpointSlice, KubeObject } from '#kube/models.ts';

interface EndpointWatchOptions extends Pick<ListWatchOptions, 'client' | 'clock' | 'meter' | 'log'> {
  readonly namespace: string;
  readonly service: string;
  /** Called with the first complete list, then after each change; parse-endpoints.ts reads the slices. */
  readonly onChange: (slices: readonly EndpointSlice[]) => void;
}

/** Starts watching at once. */
export function watchEndpoints({ namespace, service, onChange, ...parts }: EndpointWatchOptions): ListWatch {
  const slices = new Map<string, EndpointSlice>();
  const tell = (): void => onChange([...slices.values()]);
  const keep = (slice: KubeObject): void => void slices.set(slice.metadata.name, slice);
  return startListWatch({
    ...parts,
    collection: {
      resource: 'endpointslices',
      path: `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`,
      labelSelector: `kubernetes.io/service-name=${service}`,
    },
    onReplace(all) {
      slices.clear();
      all.forEach(keep);
      tell();
    },
    onApplied(slice) {
      keep(slice);
      tell();
    },
    onDeleted({ metadata }) {
      slices.delete(metadata.name);
      tell();
    },
  });
}
