/** Defaults that both a command's flags and the parts it starts need. */
import type { ListenAddress } from '../dataplane/listen.ts';

/** The default address of the demo provider. */
export const DEMO_ADDRESS: ListenAddress = { host: '127.0.0.1', port: 4010 };

/** The default address of the console. */
export const CONSOLE_ADDRESS: ListenAddress = { host: '127.0.0.1', port: 8081 };

/** The default namespace of a gateway. */
export const DEFAULT_GATEWAY_NAMESPACE = 'model-gateway';
