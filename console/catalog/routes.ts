/** Pages of what can be called and at what price; those of routes are for the platform team. */
import type { ConsoleRoute } from '../route.ts';
import { ownYamlRoute } from '../components/yaml.ts';
import { catalogsRoutes } from './catalogs.ts';
import { channelRoutes } from './channels.ts';
import { editRoutes } from './edit/edit.ts';
import { newModelRoutes } from './edit/new-model.ts';
import { groupsRoutes } from './groups.ts';
import { modelsRoutes } from './models.ts';
import { priceChangeRoutes } from './price-change.ts';

export const catalogRoutes: readonly ConsoleRoute[] = [
  ...catalogsRoutes,
  ...channelRoutes,
  ...editRoutes,
  ...newModelRoutes,
  ...groupsRoutes,
  ...modelsRoutes,
  ...priceChangeRoutes,
  ownYamlRoute({ kind: 'Group', active: 'groups', label: 'Groups', path: '/groups' }),
  ownYamlRoute({ kind: 'ModelRoute', active: 'routes', label: 'Routes', path: '/routes' }),
  ownYamlRoute({ kind: 'PriceCatalog', active: 'catalogs', label: 'Price catalogs', path: '/catalogs' }),
];
