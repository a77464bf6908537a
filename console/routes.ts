/** Every page of the console in one place; each file in pages/ is one page with the forms that it posts. */
import { accountNewRoutes } from './pages/account-new.ts';
import { accountRoutes } from './pages/account.ts';
import { callRoutes } from './pages/call.ts';
import { callsRoutes } from './pages/calls.ts';
import { groupsRoutes } from './pages/groups.ts';
import { keyActivityRoutes } from './pages/key-activity.ts';
import { keyCreatedRoutes } from './pages/key-created.ts';
import { keyDeleteRoutes } from './pages/key-delete.ts';
import { keyNewRoutes } from './pages/key-new.ts';
import { keyRotateRoutes } from './pages/key-rotate.ts';
import { keyRoutes } from './pages/key.ts';
import { keySettingsRoutes } from './pages/key-settings.ts';
import { keyUseRoutes } from './pages/key-use.ts';
import { keysRoutes } from './pages/keys.ts';
import { modelsRoutes } from './pages/models.ts';
import { overviewRoutes } from './pages/overview.ts';
import { playgroundRoutes } from './pages/playground.ts';
import { priceChangeRoutes } from './pages/price-change.ts';
import { pricesRoutes } from './pages/prices.ts';
import { refusedRoutes } from './pages/refused.ts';
import { routesRoutes } from './pages/routes.ts';
import { usageCallsRoutes } from './pages/usage-calls.ts';
import { usageMarginsRoutes } from './pages/usage-margins.ts';
import { usageRoutes } from './pages/usage.ts';
import { takeBackRoutes } from './pages/take-back.ts';
import { walletRoutes } from './pages/wallet.ts';
import { yamlRoutes } from './pages/yaml.ts';
import type { ConsoleRoute } from './route.ts';

/** The pages of signed-in people. Signing in and out, and the assets, are the server's own. */
export const ROUTES: readonly ConsoleRoute[] = [
  ...overviewRoutes,
  ...keysRoutes,
  ...keyRoutes,
  ...keyActivityRoutes,
  ...keySettingsRoutes,
  ...keyUseRoutes,
  ...keyNewRoutes,
  ...keyCreatedRoutes,
  ...keyRotateRoutes,
  ...keyDeleteRoutes,
  ...walletRoutes,
  ...accountNewRoutes,
  ...accountRoutes,
  ...takeBackRoutes,
  ...callsRoutes,
  ...callRoutes,
  ...refusedRoutes,
  ...usageRoutes,
  ...usageCallsRoutes,
  ...usageMarginsRoutes,
  ...playgroundRoutes,
  ...modelsRoutes,
  ...pricesRoutes,
  ...priceChangeRoutes,
  ...groupsRoutes,
  ...routesRoutes,
  ...yamlRoutes,
];
