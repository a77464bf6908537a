/** Pages of accounts: the list, one account, its credit and its calls. */
import type { ConsoleRoute } from '../route.ts';
import { accountRoutes } from './account.ts';
import { accountsRoutes } from './accounts.ts';
import { callRoutes } from './call.ts';
import { callsRoutes } from './calls.ts';
import { accountNewRoutes } from './new-account.ts';
import { refusedRoutes } from './refused.ts';
import { takeBackRoutes } from './take-back.ts';

export const walletRoutes: readonly ConsoleRoute[] = [
  ...accountRoutes,
  ...accountsRoutes,
  ...callRoutes,
  ...callsRoutes,
  ...accountNewRoutes,
  ...refusedRoutes,
  ...takeBackRoutes,
];
