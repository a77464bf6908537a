/** The groups that a person could use, or may read. */
import { renderGroups } from './groups-view.ts';
import { route } from '../route.ts';
import type { ConsoleRoute, HandlerResult, PageRequest } from '../route.ts';
import { seenGroups } from '../queries/seen-groups.ts';

async function showGroups(request: PageRequest): Promise<HandlerResult> {
  const [{ list, readable }, routes] = await Promise.all([seenGroups(request), request.person.list('ModelRoute')]);
  const body = renderGroups({ list, readable, seesRoutes: routes.allowed });
  return { page: { title: 'Groups', active: 'groups', body, styles: ['catalog.css'] } };
}

export const groupsRoutes: readonly ConsoleRoute[] = [route({ method: 'GET', path: '/groups', handle: showGroups })];
