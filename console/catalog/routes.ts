/** Pages of what can be called and at what price; those of routes are for the platform team. */
import type { ConsoleRoute } from '../route.ts';
import { ownYamlRoute } from '../components/yaml.ts';
import { channelRoutes } from './channels.ts';
import { groupsRoutes } from './groups.ts';
import { modelsRoutes } from './models.ts';
import { priceChangeRoutes } from './price-change.ts';
import { pricesRoutes } from './prices.ts';

export const catalogRoutes: readonly ConsoleRoute[] = [
  ...channelRoutes,
  ...groupsRoutes,
  ...modelsRoutes,
  ...priceChangeRoutes,
  ...pricesRoutes,
  ownYamlRoute({ kind: 'Group', active: 'groups', label: 'Groups', path: '/groups' }),
  ownYamlRoute({ kind: 'ModelRoute', active: 'groups', label: 'Routes', path: '/routes' }),
];
