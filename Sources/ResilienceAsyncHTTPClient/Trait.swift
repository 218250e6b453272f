// This module is empty without the trait AsyncHTTPClient.
