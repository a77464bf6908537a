/** [P] Sends calls of channels at one origin to another: the quickstart's manifests name the demo provider's default. */
import type { ModelRoute, Snapshot } from '#snapshot/snapshot.gen.ts';

/** Two origins, such as http://127.0.0.1:4010. */
export interface ReplacedOrigin {
  readonly from: string;
  readonly to: string;
}

/** Returns a function that replaces the origin in a snapshot. Unchanged routes give the same objects each time. */
export function replaceOrigin({ from, to }: ReplacedOrigin): (snapshot: Snapshot) => Snapshot {
  const known = new WeakMap<ModelRoute, ModelRoute>();
  const moved = (baseUrl: string): string =>
    URL.parse(baseUrl)?.origin === from ? `${to}${baseUrl.slice(from.length)}` : baseUrl;
  const routeAt = (route: ModelRoute): ModelRoute => {
    const before = known.get(route);
    if (before) return before;
    const channels = route.channels.map((channel) => ({ ...channel, baseUrl: moved(channel.baseUrl) }));
    const next = route.channels.some(({ baseUrl }, at) => channels[at]?.baseUrl !== baseUrl)
      ? { ...route, channels }
      : route;
    known.set(route, next);
    return next;
  };
  return (snapshot) => (from === to ? snapshot : { ...snapshot, routes: snapshot.routes.map(routeAt) });
}
