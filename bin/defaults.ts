/** What flags are when they are not given, where a command and what it starts both need it. */
import type { Address } from './options.ts';

/** Where the demo provider listens. */
export const DEMO_ADDRESS: Address = { host: '127.0.0.1', port: 4010 };

/** Where the console is, unless another program is there. */
export const CONSOLE_ADDRESS: Address = { host: '127.0.0.1', port: 8081 };

/** The default namespace of a gateway. */
export const DEFAULT_GATEWAY_NAMESPACE = 'model-gateway';
