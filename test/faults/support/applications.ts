import { afterEach } from '@jest/globals';

import { openApplication, type Application } from './application.js';

/** Opens applications for the specs of a file; each is closed after its spec. */
export function useApplications(): typeof openApplication {
  const applications: Application[] = [];
  afterEach(async () => {
    await Promise.all(applications.splice(0).map((application) => application.close()));
  });
  return (connection, options) => {
    const application = openApplication(connection, options);
    applications.push(application);
    return application;
  };
}
