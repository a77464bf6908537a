/** Every page of the console; each feature's folder lists its own. */
import { catalogRoutes } from './catalog/routes.ts';
import { findRoutes } from './find/find.ts';
import { keysRoutes } from './keys/routes.ts';
import { overviewRoutes } from './overview/overview.ts';
import { playgroundRoutes } from './playground/playground.ts';
import type { ConsoleRoute } from './route.ts';
import { usageRoutes } from './usage/routes.ts';
import { walletRoutes } from './wallet/routes.ts';

/** The pages of signed-in people. Signing in and out, and the assets, are the server's own. */
export const ROUTES: readonly ConsoleRoute[] = [
  ...overviewRoutes,
  ...findRoutes,
  ...keysRoutes,
  ...walletRoutes,
  ...usageRoutes,
  ...playgroundRoutes,
  ...catalogRoutes,
];
