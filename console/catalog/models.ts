/** The models of the gateway, with the prices of the groups that a person could use or may read. */
import { MODELS_PATH, MODELS_QUERY, parseModelsQuery, renderModels } from './models-view.ts';
import { route } from '../route.ts';
import type { ConsoleRoute, HandlerResult, PageRequest } from '../route.ts';
import { seenGroups } from './groups.ts';

async function showModels(request: PageRequest<{ readonly query: typeof MODELS_QUERY }>): Promise<HandlerResult> {
  const { list } = await seenGroups(request);
  const body = renderModels(list, parseModelsQuery(request.query, list));
  const styles = ['catalog.css', 'pricing.css'];
  return { page: { title: 'Models', active: 'models', body, styles } };
}

export const modelsRoutes: readonly ConsoleRoute[] = [
  route({ method: 'GET', path: MODELS_PATH, query: MODELS_QUERY, handle: showModels }),
];
