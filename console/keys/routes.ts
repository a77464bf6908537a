/** Pages of keys: the list, one key with its tabs, and what is done with it. */
import type { ConsoleRoute } from '../route.ts';
import { yamlRoute } from '../components/yaml.ts';
import { keyActivityRoutes } from './activity.ts';
import { keyCreatedRoutes } from './created.ts';
import { keyDeleteRoutes } from './delete.ts';
import { keyListRoutes } from './list.ts';
import { keyNewRoutes } from './new.ts';
import { keyOverviewRoutes } from './overview.ts';
import { keyRotateRoutes } from './rotate.ts';
import { keySettingsRoutes } from './settings.ts';
import { keyUseRoutes } from './use.ts';

export const keysRoutes: readonly ConsoleRoute[] = [
  ...keyActivityRoutes,
  ...keyCreatedRoutes,
  ...keyDeleteRoutes,
  ...keyListRoutes,
  ...keyNewRoutes,
  ...keyOverviewRoutes,
  ...keyRotateRoutes,
  ...keySettingsRoutes,
  ...keyUseRoutes,
  yamlRoute({ kind: 'ApiKey', active: 'keys', label: 'API keys', path: '/keys' }),
];
