/** The groups that a person could use, or may read. */
import { renderGroups } from './groups-view.ts';
import { route } from '../route.ts';
import type { ConsoleRoute, HandlerResult, PageRequest } from '../route.ts';
import { seenGroups } from '../queries/seen-groups.ts';

async function showGroups(request: PageRequest): Promise<HandlerResult> {
  const {
    person,
    deps: { gatewayNamespace: namespace },
  } = request;
  const [{ list, readable }, routes, mayCreate, mayChange] = await Promise.all([
    seenGroups(request),
    person.list('ModelRoute'),
    person.may('create', 'Group', { namespace }),
    person.may('patch', 'Group', { namespace }),
  ]);
  const body = renderGroups({ list, readable, seesRoutes: routes.allowed, mayCreate, mayChange });
  return { page: { title: 'Groups', active: 'groups', body, styles: ['catalog.css'] } };
}

export const groupsRoutes: readonly ConsoleRoute[] = [route({ method: 'GET', path: '/groups', handle: showGroups })];
